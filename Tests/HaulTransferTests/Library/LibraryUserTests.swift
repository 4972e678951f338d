import Foundation
import HaulTransfer
import TestSupport
import Testing

/// The library in a process of its own, that can be measured and killed.
@Suite(.timeLimit(.minutes(5)))
struct LibraryUserTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  static let program =
    URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    + "/LibraryUser"

  /// What the program says it holds.
  private struct Held: CustomStringConvertible {
    /// KiB of memory.
    let peak: Int
    let resident: Int
    let descriptors: Int

    var description: String {
      "\(resident) KiB (peak \(peak)), \(descriptors) descriptors"
    }

    init(_ line: String) throws {
      let numbers = line.split(separator: " ").compactMap { Int($0) }
      try #require(numbers.count == 3)
      (peak, resident, descriptors) = (numbers[0], numbers[1], numbers[2])
    }
  }

  /// Before the first and after each of the counts.
  private func gauge(_ url: String, _ counts: [Int]) async throws -> [Held] {
    let output = try await ChildProcess.run(
      Self.program, ["gauge", url, directory.path] + counts.map(String.init),
      within: .seconds(240))
    #expect(output.exit == .code(0), "\(output.standardError)")
    let held = try output.standardOutput.map(Held.init)
    try #require(held.count == counts.count + 1)
    return held
  }

  @Test func `1 GB takes at most 8 MB of memory`() async throws {
    let nginx = try await Nginx()
    let file = "\(nginx.root)/large"
    try #require(FileManager.default.createFile(atPath: file, contents: nil))
    try #require(truncate(file, 1_000_000_000) == 0)
    let held = try await gauge(nginx.url("/large"), [1])
    #expect((held[1].peak - held[0].peak) * 1024 <= 8_000_000, "\(held)")
    #expect(try await nginx.accessLog(requests: 1).requests.count == 1)
  }

  /// The first thousands fill the arenas of the allocator, which may then keep 2 MiB more than before; of each of the eight downloads at once a
  /// connection or a file may just have been closed or not.
  @Test func `10,000 downloads hold no more than 4,000`() async throws {
    let nginx = try await Nginx()
    try "hello".write(toFile: "\(nginx.root)/small", atomically: true, encoding: .utf8)
    let held = try await gauge(nginx.url("/small"), Array(repeating: 1000, count: 10))
    #expect(held[10].resident - held[4].resident <= 2 << 10, "\(held)")
    #expect(abs(held[10].descriptors - held[1].descriptors) <= 8, "\(held)")
  }

  @Test func `killed, it goes on from what it saved`() async throws {
    let gate = Gate("the rest")
    var source = TestSupport.Representation(seed: 7, length: 128 << 20)
    source.gates = [100 << 20: gate]
    let origin = try OriginServer(handler: Site(["/file": source]).answer)
    let (path, data) = (directory.path("a"), directory.path("a.resume"))
    let arguments = ["keep", origin.url("/file"), path, data]
    let child = try ChildProcess(Self.program, arguments)
    let saved = try await child.first("resume data of 64 MiB") { output in
      output.standardOutput.last { $0.hasPrefix("saved ") }
        .flatMap { Int64($0.dropFirst("saved ".count)) }.flatMap { $0 >= 64 << 20 ? $0 : nil }
    }
    child.signal(SIGKILL)
    #expect(try await child.exit() == .signal(SIGKILL))
    gate.open()

    let output = try await ChildProcess.run(Self.program, arguments)
    #expect(output.standardOutput.last == "complete \(source.length)", "\(output.standardError)")
    let range = try #require(origin.log.value.exchanges.last?.request[field: "Range"])
    let start = try #require(Int64(range.dropFirst("bytes=".count).prefix { $0 != "-" }))
    // Later resume data may have been saved before the signal came.
    #expect(start >= saved - 4096)
    let file = try Data(contentsOf: URL(filePath: path))
    #expect(file.count == source.length)
    #expect(source.pattern.firstDifference(of: Array(file), at: 0) == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["a"])
  }
}
