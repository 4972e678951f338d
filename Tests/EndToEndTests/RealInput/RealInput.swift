import Foundation
import TestSupport

/// Files to be downloaded: real ones served from where they lie, and a few made ones with hard names and lengths.
struct RealInput {
  struct File: Sendable {
    /// Where the file lies.
    let source: String
    /// Below nginx's root.
    let path: String
    let length: Int64

    /// What a request asks for: every byte encoded that a URL might take for something else.
    var target: String {
      let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/".utf8)
      return path.utf8.reduce(into: "/") { text, byte in
        text +=
          plain.contains(byte)
          ? String(UnicodeScalar(byte)) : "%" + String(format: "%02X", byte)
      }
    }
  }

  /// The largest first, so that they have begun when the workers are interrupted.
  let files: [File]

  var bytes: Int64 { files.reduce(0) { $0 + $1.length } }

  init(files: [File]) { self.files = files }

  /// Serves `directories` and the made files through `nginx`; nothing is copied.
  ///
  /// With `limit`, only so many of the real ones: two that take a while, the others evenly chosen.
  init(_ directories: [String], limit: Int?, through nginx: Nginx) throws {
    var real: [File] = []
    var seen: Set<[UInt64]> = []
    for (number, directory) in directories.enumerated() {
      try FileManager.default.createSymbolicLink(
        atPath: "\(nginx.root)/\(number)", withDestinationPath: directory)
      real += Self.files(in: directory, as: "\(number)", seen: &seen)
    }
    real.sort { ($1.length, $0.path) < ($0.length, $1.path) }
    if let limit, limit < real.count {
      let long = real.filter { (100 << 20..<200 << 20).contains($0.length) }.prefix(2)
      let rest = real.filter { $0.length < 32 << 20 }
      let step = Double(rest.count) / Double(limit - long.count)
      real = long + (0..<limit - long.count).map { rest[Int(Double($0) * step)] }
    }
    files = real + (try Self.make(in: nginx.root))
  }

  /// The list for `haul submit`, in the default format.
  func list(of nginx: Nginx) -> String {
    files.map { nginx.url($0.target) }.joined(separator: "\n") + "\n"
  }

  /// The directories that are named by HAUL_TEST_REAL_INPUT, or else the toolchain's.
  static func directories() async throws -> (paths: [String], isComplete: Bool) {
    if let named = ProcessInfo.processInfo.environment["HAUL_TEST_REAL_INPUT"] {
      return (named.split(separator: ":").map(String.init), true)
    }
    let found = try await ChildProcess.run("sh", ["-c", "readlink -f \"$(command -v swift)\""])
    let bin = URL(fileURLWithPath: found.standardOutput.first ?? "").deletingLastPathComponent()
    return ([bin.deletingLastPathComponent().path + "/lib", bin.path], false)
  }

  /// Regular files and links to such, each file once.
  private static func files(
    in directory: String, as name: String, seen: inout Set<[UInt64]>
  ) -> [File] {
    var found: [File] = []
    for case let path as String in FileManager.default.enumerator(atPath: directory) ?? .init() {
      let source = URL(fileURLWithPath: "\(directory)/\(path)").resolvingSymlinksInPath().path
      var status = stat()
      guard stat(source, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        seen.insert([UInt64(status.st_dev), UInt64(status.st_ino)]).inserted
      else { continue }
      found.append(File(source: source, path: "\(name)/\(path)", length: Int64(status.st_size)))
    }
    return found
  }

  /// Names that a URL, a shell or a file system might take for something else, and lengths around a page.
  private static func make(in root: String) throws -> [File] {
    let names = [
      "a name with spaces.txt", "100%.txt", "%41.txt", "a%2Fb", "hash#mark", "what?", "what?a=b",
      "plus+plus", "semi;colon", "quote'\"", "back\\slash", "käse-日本語-🚚.txt", "-dash", ".hidden",
      String(repeating: "n", count: 255), String(repeating: "ü", count: 127),
    ]
    let lengths: [Int64] = [0, 1, 4095, 4096, 4097]
    let all =
      names.enumerated().map { ("made/\($1)", Int64($0) * 1000 + 1) }
      + lengths.map { ("made/lengths/\($0)", $0) }
    try FileManager.default.createDirectory(
      atPath: root + "/made/lengths", withIntermediateDirectories: true)
    return try all.enumerated().map { number, file in
      try Pattern(seed: UInt64(number)).write(to: "\(root)/\(file.0)", length: file.1)
      return File(source: "\(root)/\(file.0)", path: file.0, length: file.1)
    }
  }
}
