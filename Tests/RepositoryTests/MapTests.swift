import Foundation
import TestSupport
import Testing

/// CONTRIBUTING's map is what `Package.swift` says.
struct MapTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOf: repositoryRoot.appending(path: path), encoding: .utf8)
  }

  /// Each target that is no test, and what it depends on.
  private static func package() throws -> [String: Set<String>] {
    let manifest = try text("Package.swift")
    let end = try #require(manifest.range(of: "// Tests: one folder"))
    var targets: [String: Set<String>] = [:]
    let pieces = manifest[..<end.lowerBound].split(
      separator: /\n    \.(?:target|executableTarget|systemLibrary)\(/)
    for piece in pieces.dropFirst() {
      let name = try #require(piece.firstMatch(of: /name: "(\w+)"/)).1
      let list = piece.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
      // A plug-in's own declaration follows its tool's in the same piece.
      let isOwn = piece.prefix { $0 != ")" }.contains("dependencies:") || !piece.contains(".plugin")
      targets[String(name)] = isOwn ? Set(list.matches(of: /"(\w+)"/).map { String($0.1) }) : []
    }
    return targets
  }

  /// The same by the first block of CONTRIBUTING whose lines have arrows.
  private static func map() throws -> [String: Set<String>] {
    let blocks = try text("CONTRIBUTING.md").split(separator: "\n```\n")
    let block = try #require(blocks.first { $0.contains("HaulSystem       →") })
    var targets: [String: Set<String>] = [:]
    var last = ""
    for line in block.split(separator: "\n") {
      let parts = line.split(separator: "→", maxSplits: 1)
      let isContinued = line.hasPrefix(" ")
      if !isContinued { last = parts[0].trimmingCharacters(in: .whitespaces) }
      let list = isContinued ? parts[0] : parts.count > 1 ? parts[1] : ""
      targets[last, default: []].formUnion(list.matches(of: /\w+/).map { String($0.0) })
    }
    return targets
  }

  @Test func `the map has each target and its arrows`() throws {
    let (package, map) = (try Self.package(), try Self.map())
    #expect(package.count > 20)
    #expect(Set(map.keys) == Set(package.keys))
    for (name, dependencies) in package {
      #expect(map[name] == dependencies, "\(name)")
    }
  }

  /// Files that CONTRIBUTING names, also below `Sources`, `Sources/HaulTransfer` or a folder named before.
  @Test func `every file that the page names is there`() throws {
    let names = try Set(
      Self.text("CONTRIBUTING.md").matches(
        of: /[`(]((?:[A-Za-z+_0-9]+\/)*[A-Za-z+_0-9.]+\.(?:swift|sql|py|pml|md))[`)]/
      ).map { String($0.1) })
    let root = repositoryRoot.path
    let files = try FileManager.default.subpathsOfDirectory(atPath: root + "/Sources")
      .map { "Sources/" + $0 }
    let others = try FileManager.default.subpathsOfDirectory(atPath: root + "/Tests")
      .map { "Tests/" + $0 }
    let all = files + others + ["docs/errors.md", "docs/sql.md", "Package.swift"]
    #expect(names.count > 20)
    for name in names.sorted()
    where !["docs/performance.md", "docs/resume-matrix.md"].contains(name) {
      #expect(
        all.contains { $0 == name || $0.hasSuffix("/" + name) }
          || FileManager.default.fileExists(atPath: "\(root)/\(name)"), "\(name)")
    }
  }
}
