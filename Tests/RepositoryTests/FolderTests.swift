import Foundation
import TestSupport
import Testing

/// The folders of the library: each uses only those before it.
struct FolderTests {
  private struct Source {
    let name: String
    /// The index of its folder in the order.
    let rank: Int
    /// The types and functions that other files can see.
    let declared: Set<String>
    /// Every name in it that follows no dot.
    let used: Set<String>
  }

  /// The folders in the order that CONTRIBUTING gives; files beside them come first.
  private static func order() throws -> [String] {
    let page = repositoryRoot.appending(path: "CONTRIBUTING.md")
    let line = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
      .first { $0.hasPrefix("Folders: ") }
    return try #require(line).matches(of: /`(\w+)`/).map { String($0.1) }
  }

  private static func source(_ path: String, _ text: String, _ order: [String]) -> Source {
    let declaration =
      /(?m)^(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|final|indirect) )*(?:(?:struct|class|enum|actor|protocol|typealias) |func )(\w+)/
    let code = text.replacing(/"""(?s:.*?)"""/, with: "\"\"")
      .replacing(/"(?:\\.|[^"\\\n])*"/, with: "\"\"").replacing(/\/\/.*/, with: "")
    let folder = path.split(separator: "/").dropLast().first.map(String.init)
    return Source(
      name: path, rank: folder.flatMap(order.firstIndex).map { $0 + 1 } ?? 0,
      declared: Set(code.matches(of: declaration).map { String($0.1) }),
      used: Set(code.matches(of: /(?:^|[^.\w])([A-Za-z_]\w*)/).map { String($0.1) }))
  }

  @Test func `no folder uses one that comes later`() throws {
    let order = try Self.order()
    let root = repositoryRoot.appending(path: "Sources/HaulTransfer")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".swift") }
    let folders = Set(
      paths.compactMap { $0.split(separator: "/").dropLast().first.map(String.init) })
    #expect(Set(order) == folders)
    let sources = try paths.map {
      Self.source($0, try String(contentsOf: root.appending(path: $0), encoding: .utf8), order)
    }
    #expect(sources.count > 60)
    var owners: [String: [Source]] = [:]
    for source in sources {
      for name in source.declared { owners[name, default: []].append(source) }
    }
    for source in sources {
      for name in source.used.subtracting(source.declared) {
        // A name declared twice is nobody's in particular.
        guard let owner = owners[name], owner.count == 1 else { continue }
        #expect(
          owner[0].rank <= source.rank, "\(source.name) uses \(name) of \(owner[0].name)")
      }
    }
  }
}
