import Foundation
import TestSupport
import Testing

/// Listing a directory in which a program works.
struct FileTreeTests {
  @Test func `what goes away meanwhile is left out, and what stays is there`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write("", to: "stays/below/file")
    let script = """
      while true; do
        mkdir -p gone/below; : > gone/below/file; : > stays/part; mv stays/part file; rm -r gone file
      done
      """
    let busy = try ChildProcess("sh", ["-c", script], directory: directory.path)
    defer { busy.signal(SIGKILL) }
    var seen: Set<String> = []
    for _ in 1...500 {
      let files = try FileTree.files(below: directory.path)
      #expect(files.contains("stays/below/file"))
      seen.formUnion(files)
    }
    #expect(seen.isSubset(of: ["stays/below/file", "gone/below/file", "stays/part", "file"]))
  }
}
