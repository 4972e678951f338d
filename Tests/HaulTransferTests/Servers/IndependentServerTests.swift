import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Servers that nobody here has written: whatever happens to an answer in its middle, the file is one version that
/// the server had, and what can be resumed is.
@Suite(.timeLimit(.minutes(5)))
struct IndependentServerTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// A server, the relay before it and a download through both.
  private struct Scene {
    let server: IndependentServer
    let relay: OriginRelay
    let downloader: Downloader
    let url: String
    let path: String

    /// Ends all; the server's log.
    func end() async throws -> [Substring] {
      await downloader.shutdown()
      return try await server.stop()
    }
  }

  private func scene(
    _ kind: ServerKind, _ mode: IndependentServer.Mode = .honest
  ) async throws -> Scene {
    let server = try await IndependentServer(kind, mode)
    let relay = try OriginRelay(to: server.port, .hold(after: IndependentServer.middle))
    return Scene(
      server: server, relay: relay,
      downloader: try Downloader(server.configuration(through: relay)),
      url: server.url(through: relay), path: directory.path("file"))
  }

  @Test(arguments: ServerKind.allCases)
  func `an answer that breaks is gone on with by a range`(_ kind: ServerKind) async throws {
    let scene = try await scene(kind)
    let download = scene.downloader.start(scene.url, to: scene.path)
    try await scene.relay.held()
    scene.relay.release(.cut)
    _ = try await download.value
    #expect(try IndependentServer.version(of: scene.path) == 1)
    let log = try await scene.end()
    #expect(log.count { kind.isPartial($0) } == 1, "\(log)")
  }

  @Test(arguments: ServerKind.allCases)
  func `by a weak entity tag and an old date a range is asked for without a condition`(
    _ kind: ServerKind
  ) async throws {
    let scene = try await scene(kind, .weak)
    let download = scene.downloader.start(scene.url, to: scene.path)
    try await scene.relay.held()
    scene.relay.release(.cut)
    _ = try await download.value
    #expect(try IndependentServer.version(of: scene.path) == 1)
    let log = try await scene.end()
    #expect(log.count { kind.isPartial($0) } == 1, "\(log)")
  }

  /// A server may go on with the old file for a while, which it has open.
  ///
  /// In place, with the old date and length: no validator tells, only the bytes that are asked for twice.
  @Test(arguments: ServerKind.allCases, [false, true])
  func `a file replaced in the middle is never mixed`(
    _ kind: ServerKind, _ inPlace: Bool
  ) async throws {
    let scene = try await scene(kind)
    let download = scene.downloader.start(scene.url, to: scene.path)
    try await scene.relay.held()
    try await scene.server.hasRead()
    try scene.server.replace(by: 2, inPlace: inPlace)
    scene.relay.release(.cut)
    _ = try await download.value
    #expect(try IndependentServer.version(of: scene.path) != nil)
    _ = try await scene.end()
  }

  @Test(arguments: ServerKind.allCases)
  func `a server that reads its configuration again finishes its answer or lets it be gone on with`(
    _ kind: ServerKind
  ) async throws {
    let scene = try await scene(kind)
    let download = scene.downloader.start(scene.url, to: scene.path)
    try await scene.relay.held()
    try await scene.server.reload()
    scene.relay.release(.goOn)
    _ = try await download.value
    #expect(try IndependentServer.version(of: scene.path) == 1)
    _ = try await scene.end()
  }

  @Test(arguments: ServerKind.allCases)
  func `a server that asks to wait is gone on with later`(_ kind: ServerKind) async throws {
    let scene = try await scene(kind)
    let download = scene.downloader.start(scene.url, to: scene.path)
    try await scene.relay.held()
    try await scene.server.restart(.busy)
    scene.relay.release(.cut)
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .rateLimited)
    #expect(error?.retryAfter == .seconds(7))
    let data = try #require(download.resumeData)
    #expect(data.bytes > 0)
    try await scene.server.restart(.honest)
    _ = try await scene.downloader.download(resumingFrom: data, to: scene.path)
    #expect(try IndependentServer.version(of: scene.path) == 1)
    let log = try await scene.end()
    #expect(log.count { kind.isPartial($0) } == 1, "\(log)")
  }
}
