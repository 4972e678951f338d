import Foundation
import TestSupport
import Testing

/// The pages that the program writes, read by a program that knows the format.
struct ManualTests {
  @Test func `the pages are written, and are right`() async throws {
    let directory = try TemporaryDirectory()
    let pages = "\(directory.path)/man/man1"
    for _ in 1...2 {
      let written = try await ChildProcess.run(HaulProcess.path, ["manual", pages])
      #expect(written.exit == .code(0))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: pages)
    #expect(Set(["haul.1", "haul-get.1", "haul-store-init.1"]).subtracting(names) == [])
    let lint = try await ChildProcess.run(
      "mandoc", ["-T", "lint", "-W", "warning"] + names.map { "\(pages)/\($0)" })
    #expect(lint.exit == .code(0), "\(lint.standardOutput)")
  }

  @Test func `a directory that cannot be made is named`() async throws {
    let written = try await ChildProcess.run(HaulProcess.path, ["manual", "/proc/nothing"])
    #expect(written.exit == .code(74))
    #expect(
      written.standardError == [
        "haul manual: cannot write the manual to /proc/nothing: No such file or directory"
      ])
  }
}
