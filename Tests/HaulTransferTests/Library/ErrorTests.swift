import Foundation
import Glibc
import HaulTransfer
import TestSupport
import Testing

/// What a program is told when a download fails.
@Suite(.timeLimit(.minutes(5)))
struct ErrorTests {
  private func failure(
    _ bench: LibraryBench, _ request: DownloadRequest
  ) async throws -> TransferError {
    switch await bench.downloader.start(request).result {
    case .success: throw Unexpected()
    case .failure(let error): error
    }
  }

  private struct Unexpected: Error {}

  @Test func `a directory in the way is told before anything is fetched`() async throws {
    let bench = try LibraryBench()
    try FileManager.default.createDirectory(
      atPath: bench.directory.path("file"), withIntermediateDirectories: false)
    for policy in CollisionPolicy.allCases where policy != .rename {
      var request = bench.request("file")
      request.options.ifExists = policy
      let error = try await failure(bench, request)
      #expect(error.errorClass == .pathConflict && error.path == request.path)
    }
    #expect(bench.asked.isEmpty)
  }

  @Test func `the sentence is what localizedDescription says`() async throws {
    let bench = try LibraryBench()
    let error: any Error = try await failure(bench, bench.request("none"))
    #expect(error.localizedDescription.contains("404"))
    #expect("\(error)".hasPrefix("http404: "))
  }

  /// The program has given another URL than the one that is refused.
  @Test(arguments: [
    ("http://10.1.2.3/x", "a redirect leads to 10.1.2.3: the address 10.1.2.3 is not public"),
    ("ftp://127.0.0.1/", ": the URL's scheme is 'ftp'"),
  ])
  func `what a redirect has led to is said to come from one`(
    _ target: String, _ sentence: String
  ) async throws {
    let bench = try LibraryBench()
    let origin = try OriginServer { _, reply in try reply.redirect(to: target) }
    let error = try await failure(
      bench, DownloadRequest(origin.url("/"), to: bench.directory.path("file")))
    #expect(error.message.contains(sentence), "\(error)")
  }

  @Test func `a file's trouble has its error number and path`() async throws {
    let bench = try LibraryBench()
    let request = DownloadRequest(bench.origin.url("/file"), to: bench.directory.path("no/file"))
    let error = try await failure(bench, request)
    #expect(error.errorNumber == ENOENT && error.path == request.path && error.errorClass == .io)
  }

  /// In a directory that may not be changed any more (chattr(1)), neither the name nor the clean-up succeeds.
  @Test(.enabled("mounting needs root") { await TestFileSystem.isPossible })
  func `the error is that of the download, not of the clean-up`() async throws {
    let bench = try LibraryBench()
    let disk = try await TestFileSystem(ext4: 8 << 20)
    let path = "\(disk.path)/slow"
    let download = bench.downloader.start(bench.origin.url("/slow"), to: path)
    try await bench.half(download)
    try await command("chattr", "+i", disk.path)
    bench.half.open()
    let result = await download.result
    try await command("chattr", "-i", disk.path)
    guard case .failure(let error) = result else { throw Unexpected() }
    #expect(
      error.errorClass == .notPermitted
        && error.message.contains("move the finished file to"), "\(error)")
    #expect(error.errorNumber == EPERM && error.path == path)
  }

  @Test(arguments: ["user:hidden", "user"])
  func `a password in a URL is refused, and the way out named`(_ user: String) async throws {
    let bench = try LibraryBench()
    let url = "http://\(user)@\(bench.origin.host)/file"
    let error = try await failure(bench, DownloadRequest(url, to: bench.directory.path("file")))
    #expect(error.errorClass == .blockedURL && error.remedy == .loginOption)
    #expect("\(error)".contains("login") && !"\(error)".contains("hidden"))
  }

  @Test func `a value that nobody waits for any more throws at once`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    let waiting = Task { try await download.value }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    // As a group with a time-out does it; the download itself goes on.
    await #expect(throws: CancellationError.self) {
      try await withThrowingTaskGroup(of: DownloadedFile.self) { group in
        group.addTask { try await download.value }
        group.addTask { throw CancellationError() }
        _ = try await group.next()
      }
    }
    #expect(download.state == .running)
    bench.half.open()
    #expect(try await download.value.bytes == 300_000)
  }

  @Test func `after cancel and pause the class says so`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    download.cancel()
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .cancelled)
    bench.half.open()
  }

  /// C would take what stands before the NUL byte for the path.
  @Test func `a path with a NUL byte names nothing`() async throws {
    let bench = try LibraryBench()
    for path in ["\0/file", "/file\0", "/\0"] {
      let request = DownloadRequest(
        bench.origin.url("/file"), to: "\(bench.directory.path)\(path)")
      let error = try await failure(bench, request)
      #expect([.io, .pathConflict].contains(error.errorClass))
    }
    #expect(throws: TransferError.self) {
      try Downloader.partialFiles(in: "\(bench.directory.path)\0")
    }
    #expect(throws: TransferError.self) {
      try DownloadQueue(bench.downloader, list: bench.directory.path("list\0"))
    }
    #expect(try bench.files.isEmpty)
  }
}
