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

  @Test func `help that cannot be written says so`() async throws {
    for words in ["--help", "--version", "manual --help"] {
      let output = try await ChildProcess.run(
        "sh", ["-c", "exec \"$0\" \(words) >/dev/full", HaulProcess.path])
      #expect(output.exit == .code(74))
      #expect(
        output.standardError == ["haul: cannot write the output: No space left on device."])
    }
  }

  @Test func `in a directory that has been removed nothing is written elsewhere`() async throws {
    let place = try TemporaryDirectory()
    let output = try await ChildProcess.run(
      "sh",
      [
        "-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" manual pages",
        HaulProcess.path,
      ],
      directory: place.path)
    #expect(output.exit == .code(74))
    #expect(
      output.standardError == ["haul manual: cannot write to pages: No such file or directory."])
    #expect(!FileManager.default.fileExists(atPath: "/pages"))
    let get = try await ChildProcess.run(
      "sh",
      [
        "-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" get http://127.0.0.1:1/a",
        HaulProcess.path,
      ], environment: ["HAUL_STATE_DIR": place.path("state")], directory: place.path)
    #expect(get.exit == .code(74))
    #expect(get.standardError == ["haul get: cannot write to .: No such file or directory."])
  }

  @Test func `a directory or page that cannot be made is named`() async throws {
    let place = try TemporaryDirectory()
    try place.write("", to: "file")
    try place.write("", to: "pages/haul.1/in-the-way")
    for (directory, code, sentence) in [
      ("file/man1", 78 as Int32, "PLACE/file is not a directory."),
      ("pages", 74, "cannot write to PLACE/pages/haul.1: Is a directory."),
    ] {
      let written = try await ChildProcess.run(
        HaulProcess.path, ["manual", directory], directory: place.path)
      #expect(written.exit == .code(code))
      let expected = "haul manual: \(sentence.replacing("PLACE", with: place.path))"
      #expect(written.standardError == [expected])
    }
  }
}
