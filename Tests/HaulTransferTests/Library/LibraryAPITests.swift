import Foundation
import TestSupport
import Testing

/// What programs build on.
struct LibraryAPITests {
  /// A line that goes or changes may break programs: then the changelog names it, before the list is renewed.
  @Test func `the public declarations are those that are listed`() async throws {
    let output = try await ChildProcess.run(
      repositoryRoot.appending(path: "scripts/library-api").path, [], within: .seconds(120))
    #expect(output.exit == .code(0), "\(output.standardError.joined(separator: "\n"))")
    let file = repositoryRoot.appending(path: "Tests/HaulTransferTests/Golden/library-api.txt")
    let listed = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      .map(String.init)
    let missing = Set(listed).subtracting(output.standardOutput)
    let added = Set(output.standardOutput).subtracting(listed)
    #expect(missing.isEmpty, "gone or changed; if that is meant: scripts/library-api --write")
    #expect(added.isEmpty, "new: scripts/library-api --write")
  }

  /// Foundation would bring ICU, and 40 MB with it.
  @Test func `no more of Foundation than FoundationEssentials`() throws {
    let sources = repositoryRoot.appending(path: "Sources")
    for target in ["HaulTransfer", "HaulSystem"] {
      let root = sources.appending(path: target)
      let files = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        .filter { $0.hasSuffix(".swift") }
      #expect(files.count > 15)
      for file in files {
        let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
        #expect(!text.contains(/(?m)^(?:\w+ )*import Foundation$/), "\(target)/\(file)")
      }
    }
  }
}
