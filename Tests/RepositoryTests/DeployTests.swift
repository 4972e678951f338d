import Foundation
import TestSupport
import Testing

/// The files of `deploy` that run Haul in containers, as far as text shows it. `scripts/parts/kubernetes` validates the
/// manifests, and `DeployedCommandTests` checks the commands in these files.
struct DeployTests {
  private static let root = repositoryRoot.appending(path: "deploy")

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The paths of all files in `folder` below `deploy`, without secrets that an operator made there.
  private static func files(_ folder: String) throws -> [String] {
    let url = root.appending(path: folder)
    return try FileManager.default.subpathsOfDirectory(atPath: url.path).sorted().filter { path in
      var isDirectory: ObjCBool = false
      _ = FileManager.default.fileExists(
        atPath: url.appending(path: path).path, isDirectory: &isDirectory)
      return !isDirectory.boolValue && !path.hasPrefix("secrets/")
    }.map { "\(folder)/\($0)" }
  }

  private static func manifests() throws -> [String] {
    try files("kubernetes").filter { $0.hasSuffix(".yaml") }
  }

  /// The user's number in the image.
  private static func user() throws -> String {
    let match = try text("image/Containerfile").firstMatch(of: /(?m)^USER (\d+):(\d+)$/)
    return String(try #require(match).1)
  }

  /// The lines of each container from its image to its end.
  private static func containers(_ text: String) -> [String] {
    let lines = text.split(separator: "\n")
    let indent = { (line: Substring) in line.prefix { $0 == " " }.count }
    return lines.indices.filter { lines[$0].hasSuffix(" image: haul") }.map { index in
      lines[index...].prefix { indent($0) >= indent(lines[index]) }.joined(separator: "\n")
    }
  }

  @Test func `every container of a pod gives its privileges up`() throws {
    var count = 0
    for path in try Self.manifests() {
      let text = try Self.text(path)
      let containers = Self.containers(text)
      #expect(containers.count == text.matches(of: /image: \w/).count, "\(path)")
      count += containers.count
      for container in containers {
        for line in [
          "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true",
          "capabilities: {drop: [ALL]}", "resources:",
        ] {
          #expect(container.contains(line), "\(path): \(line)")
        }
      }
    }
    #expect(count >= 9)
  }

  @Test func `every pod runs as the user of the image, without a token of the cluster`() throws {
    let user = try Self.user()
    var count = 0
    for path in try Self.manifests() {
      for document in try Self.text(path).components(separatedBy: "\n---\n")
      where document.contains("\n      containers:\n") {
        count += 1
        for line in [
          "runAsNonRoot: true", "runAsUser: \(user)", "runAsGroup: \(user)", "fsGroup: \(user)",
          "type: RuntimeDefault", "automountServiceAccountToken: false",
        ] {
          #expect(document.contains(line), "\(path): \(line)")
        }
      }
    }
    #expect(count == 3)
    for page in ["image/README.md", "kubernetes/README.md", "image/Containerfile"] {
      #expect(try Self.text(page).contains(user), "\(page)")
    }
  }

  @Test func `all services of Haul in compose share one set of restrictions`() throws {
    let text = try Self.text("image/compose.yaml")
    let common = try #require(text.firstMatch(of: /(?m)^x-haul: &haul\n((?: .*\n)+)/)).1
    for line in ["read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "HAUL_IMAGE"] {
      #expect(common.contains(line), "\(line)")
    }
    #expect(text.matches(of: /HAUL_IMAGE/).count == 1)
    #expect(text.matches(of: /<<: \*haul\n/).count >= 4)
    #expect(!text.contains("privileged") && !text.contains("cap_add"))
  }

  @Test func `no file has a password or a key`() throws {
    let files = try Self.files("image") + Self.files("kubernetes")
    #expect(files.count > 15)
    for path in files {
      let text = try Self.text(path)
      #expect(text.firstMatch(of: /:\/\/[^\s\/:@]+:[^\s\/@]+@/) == nil, "\(path)")
      #expect(text.firstMatch(of: /(?i)password=\S/) == nil, "\(path)")
      #expect(text.firstMatch(of: /(?:PGPASSWORD|POSTGRES_PASSWORD)\b/) == nil, "\(path)")
      #expect(!text.contains("PRIVATE KEY"), "\(path)")
      // A line of a password file: host, port, database, user, password.
      for line in text.matches(of: /\S+:(?:\*|\d+):(?:\*|\w+):\w+:(\S+)/) {
        #expect(
          ["REPLACE", "PASSWORD", "%s"].contains { line.1.hasPrefix($0) }, "\(path): \(line.0)")
      }
    }
    let example = try Self.text("kubernetes/base/secret.example.yaml")
    let values = example.matches(of: /(?m)^  (?:pgpass|ca\.crt|token): (\S+)$/)
    #expect(values.count == 5 && values.allSatisfy { $0.1.hasSuffix("REPLACE") })
    #expect(!example.contains("\ndata:"))
    let ignored = repositoryRoot.appending(path: ".gitignore")
    #expect(try String(contentsOf: ignored, encoding: .utf8).contains("deploy/image/secrets/\n"))
  }

  @Test func `every file that a kustomization names is there, and none is left out`() throws {
    let all = try Self.files("kubernetes")
    var named: Set<String> = []
    for path in all where path.hasSuffix("/kustomization.yaml") {
      let text = try Self.text(path)
      let folder = (path as NSString).deletingLastPathComponent
      let items = text.matches(of: /(?m)^ +- (?:pg_service\.conf|[^\s=:]+\.yaml|\.\.\/\S+)$/)
        .compactMap { $0.0.split(separator: " ").last.map(String.init) }
      let patches = text.matches(of: /(?m)^ +path: (\S+\.yaml)$/).map { String($0.1) }
      for name in items + patches {
        let file = Self.root.appending(path: "\(folder)/\(name)").standardizedFileURL.path
        let target = name.hasPrefix("../") ? "\(file)/kustomization.yaml" : file
        #expect(FileManager.default.fileExists(atPath: target), "\(path): \(name)")
        named.insert(target)
      }
    }
    let alone = ["secret.example.yaml", "adapter-rules.yaml", "kustomization.yaml", "README.md"]
    for path in all {
      let name = (path as NSString).lastPathComponent
      let file = Self.root.appending(path: path).standardizedFileURL.path
      if name != "kustomization.yaml" {
        #expect(named.contains(file) != alone.contains(name), "\(path)")
      }
    }
  }

  /// The unit has the time that a drain needs at most.
  @Test func `nothing kills a worker before it has drained`() throws {
    let unit = try Self.text("systemd/haul-worker.service")
    let drain = try #require(unit.firstMatch(of: /TimeoutStopSec=(\d+)/).flatMap { Int($0.1) })
    let worker = try Self.text("kubernetes/base/worker.yaml")
    let grace = worker.firstMatch(of: /terminationGracePeriodSeconds: (\d+)/)
    #expect(try #require(grace.flatMap { Int($0.1) }) > drain)
    let compose = try #require(
      try Self.text("image/compose.yaml").components(separatedBy: "\n  worker:\n").last)
    let minutes = compose.firstMatch(of: /stop_grace_period: (\d+)m/).flatMap { Int($0.1) }
    #expect(try #require(minutes) * 60 > drain)
  }

  @Test func `the image is built with the libraries that the package names`() throws {
    let file = try Self.text("image/Containerfile")
    let package = try String(
      contentsOf: repositoryRoot.appending(path: "Package.swift"), encoding: .utf8)
    let libraries = package.matches(of: /\.apt\(\["([^"]+)"\]\)/).map { String($0.1) }
    #expect(libraries.count == 4)
    for library in libraries { #expect(file.contains(" \(library) "), "\(library)") }
    #expect(file.contains("--static-swift-stdlib"))
    #expect(file.contains("\nENTRYPOINT [\"haul\"]\n"))
  }

  /// The adapter of Prometheus makes the autoscaler's metric from one of the coordinator's.
  @Test func `the autoscaler counts what the coordinator serves`() throws {
    let rules = try Self.text("kubernetes/examples/autoscaled/adapter-rules.yaml")
    let scaler = try Self.text("kubernetes/examples/autoscaled/autoscaler.yaml")
    let monitoring = try String(
      contentsOf: repositoryRoot.appending(path: "docs/monitoring.md"), encoding: .utf8)
    let series = try #require(rules.firstMatch(of: /seriesQuery: (\w+)/)).1
    let name = try #require(rules.firstMatch(of: /as: (\w+)/)).1
    #expect(monitoring.contains("`\(series)`"))
    #expect(rules.contains("(\(series){state="))
    #expect(scaler.contains("name: \(name)\n"))
  }
}
