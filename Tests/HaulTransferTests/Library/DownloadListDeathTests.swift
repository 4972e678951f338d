import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Queues with a list whose process was killed, or has changed its working directory.
@Suite(.timeLimit(.minutes(5)))
struct DownloadListDeathTests {
  private let bench: LibraryBench

  init() throws {
    bench = try LibraryBench()
  }

  /// The process may have died while it wrote the list.
  private var filesAfterDeath: [String] {
    get throws { try bench.files.filter { $0 != "list.new" } }
  }

  private func user(_ arguments: String...) async throws -> ChildProcess.Output {
    try await ChildProcess.run(LibraryUserTests.program, arguments, within: .seconds(60))
  }

  private func queue(
    _ death: String, _ policy: CollisionPolicy, _ requests: DownloadRequest...
  ) async throws -> ChildProcess.Output {
    let arguments =
      ["queue", bench.directory.path("list"), death, policy.rawValue]
      + requests.flatMap { [$0.url, $0.path] }
    let output = try await ChildProcess.run(
      LibraryUserTests.program, arguments, within: .seconds(60))
    #expect(output.exit == (death == "never" ? .code(0) : .signal(SIGKILL)))
    return output
  }

  /// 1. The file gets its name. 2. The process dies before the list is written. 3. Another one reads the list.
  @Test(arguments: ["finished", "value"], CollisionPolicy.allCases)
  func `a file that was published before the death is not downloaded again`(
    _ death: String, _ policy: CollisionPolicy
  ) async throws {
    _ = try await queue(death, policy, bench.request("c"))
    #expect(try filesAfterDeath == ["c", "list"])
    let output = try await queue("never", policy)
    #expect(output.standardOutput == [], "\(output.standardError)")
    #expect(try bench.files == ["c", "list"] && bench.isWhole("c"))
    #expect(bench.asked == ["/c"])
  }

  /// As above, and the name was taken before.
  @Test(arguments: ["finished", "value"])
  func `a file that was published under another name is not downloaded again`(
    _ death: String
  ) async throws {
    try bench.directory.write("mine", to: "c")
    try bench.directory.write("mine too", to: "c.1")
    _ = try await queue(death, .rename, bench.request("c"))
    let output = try await queue("never", .rename)
    #expect(output.standardOutput == [])
    #expect(try bench.files == ["c", "c.1", "c.2", "list"] && bench.isWhole("c.2"))
    #expect(bench.asked == ["/c"])
  }

  private var unnamed: DownloadRequest {
    DownloadRequest(bench.origin.url("/c"), in: bench.directory.path)
  }

  @Test(arguments: ["finished", "value"], CollisionPolicy.allCases)
  func `a file that was named by its response is not downloaded again`(
    _ death: String, _ policy: CollisionPolicy
  ) async throws {
    _ = try await queue(death, policy, unnamed)
    #expect(try filesAfterDeath == ["c", "list"])
    let output = try await queue("never", policy)
    #expect(output.standardOutput == [], "\(output.standardError)")
    #expect(try bench.files == ["c", "list"] && bench.isWhole("c"))
    #expect(bench.asked == ["/c"])
  }

  @Test func `part files whose file has no name yet are removed when the list is opened`()
    async throws
  {
    for _ in 1...2 { _ = try await queue("response", .replace, unnamed) }
    try bench.directory.write("", to: ".other.haul-part-1")
    _ = try await queue("never", .replace)
    #expect(try bench.files == [".other.haul-part-1", "c", "list"] && bench.isWhole("c"))
  }

  /// 1. The file gets its name, and the process dies. 2. The file is replaced by one of the same length. 3. Another process reads
  /// the list.
  @Test func `another file of that name is not taken for the published one`() async throws {
    _ = try await queue("value", .replace, bench.request("c"))
    try bench.directory.write(String(repeating: "a", count: 300_000), to: "c.new")
    try FileManager.default.removeItem(atPath: bench.directory.path("c"))
    try FileManager.default.moveItem(
      atPath: bench.directory.path("c.new"), toPath: bench.directory.path("c"))
    let output = try await queue("never", .replace)
    #expect(output.standardOutput == ["listed c", "complete c"])
    #expect(try bench.isWhole("c"))
  }

  /// 1. The process dies with a part file that no resume data name. 2. Another one downloads the file.
  @Test func `part files of dead processes are removed when the list is opened`() async throws {
    for _ in 1...3 { _ = try await queue("response", .fail, bench.request("c")) }
    try bench.directory.write("", to: ".other.haul-part-1")
    let output = try await queue("never", .fail)
    // Each run has added one more.
    #expect(output.standardOutput.filter { $0 == "listed c" }.count == 3)
    #expect(try bench.files == [".other.haul-part-1", "c", "list"])
  }

  @Test func `a relative path stays where it was when the working directory changes`()
    async throws
  {
    let (first, second) = (bench.directory.path("first"), bench.directory.path("second"))
    for path in [first, second] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }
    let output = try await user("move", bench.origin.url("/x"), first, second)
    #expect(
      output.standardOutput
        == ["listed [\"\(first)/b\"]", "complete a", "complete \(first)/b"],
      "\(output.standardError)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: second) == [])
    let names = try FileManager.default.contentsOfDirectory(atPath: first).sorted()
    #expect(names == ["b", "list"])
  }
}
