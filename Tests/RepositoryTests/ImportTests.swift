import Foundation
import TestSupport
import Testing

/// What the sources import.
struct ImportTests {
  /// The rest of Foundation brings tens of megabytes of data about languages, which each start of the program would load.
  @Test func `no source imports more of Foundation than its essentials`() throws {
    let root = repositoryRoot.appending(path: "Sources")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".swift") }
    #expect(paths.count > 400)
    for path in paths {
      let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      #expect(text.firstMatch(of: /import Foundation(?!Essentials)/) == nil, "\(path)")
    }
  }
}
