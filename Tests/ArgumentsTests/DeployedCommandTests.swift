import Foundation
import TestSupport
import Testing

@testable import Arguments
@testable import haul

/// The commands and the settings in the files of `deploy` that run Haul in containers, and in those of the Debian package.
struct DeployedCommandTests {
  private static let root = repositoryRoot.appending(path: "deploy")

  /// The image's files and the manifests, by their paths below `deploy`.
  private static func files() throws -> [(path: String, text: String)] {
    let kinds = ["yaml", "md", "conf", "sql"]
    let names = ["Containerfile", "haul-health"]
    return try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted().filter { path in
      (path.hasPrefix("image/") || path.hasPrefix("kubernetes/"))
        && !path.hasPrefix("image/secrets/")
        && (kinds.contains((path as NSString).pathExtension)
          || names.contains((path as NSString).lastPathComponent))
    }.map { ($0, try String(contentsOf: root.appending(path: $0), encoding: .utf8)) }
  }

  /// The options of all commands.
  private static func options(of node: CommandNode) -> [OptionSpec] {
    node.options + node.children.flatMap { options(of: $0) }
  }

  /// The message about a line that is not one of Haul's; nil for a line that is.
  private func fault(_ words: [String], _ environment: [String: String] = [:]) -> String? {
    switch Haul.tree.resolve(words, environment: environment) {
    case .command, .text: nil
    case .usage(let message, _): message
    }
  }

  /// Lists such as `args: [store, init, main, /srv/haul]`. Those of other programs name the program first.
  @Test func `what the containers run is understood`() throws {
    let others = ["install", "psql", "pg_isready", "haul-health"]
    var count = 0
    for (path, text) in try Self.files() {
      let lists = text.matches(
        of: /(?m)(?:args:|command:|test:|CMD|ENTRYPOINT) \[([^\]\n]*)\]/)
      for list in lists {
        var words = list.1.split(separator: ",").map {
          $0.trimmingCharacters(in: CharacterSet(charactersIn: " \""))
        }
        if words.first == "CMD" { words.removeFirst() }
        guard let first = words.first, !others.contains(first), words != ["haul"] else { continue }
        count += 1
        if let fault = fault(words) { Issue.record("\(path): \(list.0): \(fault)") }
      }
    }
    #expect(count >= 11)
  }

  @Test func `what the pages and the health check run is understood`() throws {
    var count = 0
    for (path, text) in try Self.files() {
      let lines =
        text.matches(of: /run --rm (?:-T )?(haul [^\n<"]+)/).map(\.1)
        + text.matches(of: /(haul workers [^)\n]+)\)/).map(\.1)
      for line in lines {
        count += 1
        let words = Array(ShellWords(line.trimmingCharacters(in: .whitespaces)).words.dropFirst())
        if let fault = fault(words) { Issue.record("\(path): \(line): \(fault)") }
      }
    }
    #expect(count >= 4)
  }

  @Test func `every setting is an option's variable`() throws {
    let known = Set(Self.options(of: Haul.tree.root).compactMap(\.environment))
    // compose.yaml reads this one itself.
    let others: Set = ["HAUL_IMAGE"]
    var found: Set<String> = []
    for (path, text) in try Self.files() {
      let names = Set(text.matches(of: /HAUL_[A-Z_]+/).map { String($0.0) })
      #expect(names.subtracting(known).subtracting(others) == [], "\(path)")
      found.formUnion(names)
    }
    #expect(found.count >= 6)
  }

  /// A setting in a comment counts too: operators remove its "#".
  @Test(arguments: [
    ("worker", "worker-main", "haul-worker@"), ("coordinator", "coordinator", "haul-coordinator"),
  ])
  func `the package's unit and settings are what its command takes`(
    name: String, settings: String, unit: String
  ) throws {
    let folder = Self.root.appending(path: "debian")
    let text = try String(
      contentsOf: folder.appending(path: "etc/\(settings).env"), encoding: .utf8)
    let pairs = text.matches(of: /(?m)^#?(HAUL_\w+)="?([^"\n]+)"?$/).map {
      (String($0.1), String($0.2))
    }
    let values = Dictionary(uniqueKeysWithValues: pairs)
    #expect(values.count == text.matches(of: /HAUL_/).count)
    let command = try #require(Haul.tree.root.children.first { $0.name == name })
    #expect(Set(values.keys).isSubset(of: command.options.compactMap(\.environment)))
    let lines = try String(
      contentsOf: folder.appending(path: "\(unit).service"), encoding: .utf8)
    let start = try #require(lines.firstMatch(of: /ExecStart=\/usr\/bin\/haul (.+)/)).1
    let own = lines.matches(of: /Environment=(HAUL_\w+)=(\S+)/).map { (String($0.1), String($0.2)) }
    let environment = values.merging(own) { _, other in other }
    #expect(environment["HAUL_DATABASE_URL"] != nil)
    #expect(fault(start.split(separator: " ").map(String.init), environment) == nil)
    #expect(
      lines.contains("EnvironmentFile=/etc/haul/\(settings.replacing("main", with: "%i")).env\n"))
  }

  @Test(arguments: ["worker", "coordinator"])
  func `the settings of a pod are values that its command takes`(name: String) throws {
    let file = Self.root.appending(path: "kubernetes/base/kustomization.yaml")
    let text = try String(contentsOf: file, encoding: .utf8)
    let pieces = text.components(separatedBy: "- name: haul-\(name)\n")
    try #require(pieces.count == 2)
    let own = pieces[1].components(separatedBy: "- name:")[0]
    let pairs = own.matches(of: /- (HAUL_\w+)=(\S+)/).map { (String($0.1), String($0.2)) }
    let settings = Dictionary(uniqueKeysWithValues: pairs)
    #expect(settings.count >= 3)
    let command = try #require(Haul.tree.root.children.first { $0.name == name })
    #expect(Set(settings.keys).isSubset(of: command.options.compactMap(\.environment)))
    #expect(fault([name], settings) == nil)
  }
}
