import Foundation
import HaulTransfer
import TestSupport
import Testing

/// What a program reads of an error: its own words, not those of a command line.
@Suite(.timeLimit(.minutes(5)))
struct TransferErrorTests {
  @Test func `no sentence of the library names an option of a command`() throws {
    let sources = repositoryRoot.appending(path: "Sources/HaulTransfer")
    let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
      .filter { $0.hasSuffix(".swift") }
    #expect(files.count > 50)
    for file in files {
      let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
      for line in text.split(separator: "\n") where !line.contains("///") {
        #expect(!line.contains(try Regex("[ \"']--[a-z]")) && !line.contains("'haul"), "\(file)")
      }
    }
  }

  @Test func `what may be set stands behind the sentence`() async throws {
    let origin = try OriginServer { _, reply in try reply.answer("Content-Length: 2", "ab") }
    let refused = try await DownloadBench(Engine.Configuration()).failure(origin.url("/"))
    let block = try #require(CIDR("127.0.0.1/32"))
    #expect(refused?.remedy == .allow([block]))
    #expect(
      refused?.description
        == "blockedAddress: the address 127.0.0.1 is not public; if you trust this address, set addressPolicy to allow 127.0.0.1/32"
    )
    let bench = try DownloadBench()
    _ = try await bench.download(origin.url("/"))
    let taken = await #expect(throws: TransferError.self) {
      try await bench.downloader.download(origin.url("/"), to: bench.directory.path("a"))
    }
    #expect(taken?.remedy == .ifExists)
    #expect(taken?.description.hasSuffix("; set ifExists to skip, replace or rename") == true)
    #expect(TransferError(.io, "no").description == "io: no")
  }
}
