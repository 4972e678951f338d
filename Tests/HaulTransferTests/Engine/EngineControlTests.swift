import HaulTransfer
import TestSupport
import Testing

/// Pausing, cancelling, ending.
@Suite(.timeLimit(.minutes(5)))
struct EngineControlTests {
  private static let size: Int64 = 64 << 20

  /// Sends 64 MiB, more than the kernel's buffers hold.
  private func origin() throws -> OriginServer {
    try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(Self.size)")
      let pattern = Pattern(seed: 2)
      for start in stride(from: 0, to: Self.size, by: 1 << 20) {
        try reply.body(pattern.bytes(in: start..<start + 1 << 20))
      }
    }
  }

  @Test func `a sink that pauses at every buffer gets all of the body`() async throws {
    let origin = try origin()
    try await withEngine { engine in
      let handle = ExchangeHandle()
      let sink = Recorder { _ in .pause }
      async let done = engine.perform(
        ExchangeRequest(url: origin.url("/")), sink: sink, handle: handle)
      var buffers = 0
      while sink.log.value.count < Self.size {
        let before = buffers
        try await sink.log.first("a buffer") { $0.buffers > before ? () : nil }
        buffers = sink.log.value.buffers
        // Nothing more comes until it is asked for.
        #expect(buffers == before + 1)
        handle.resume()
      }
      let result = await done
      #expect(result.outcome == .complete)
      #expect(result.bytes == Self.size)
      #expect(Pattern(seed: 2).firstDifference(of: sink.log.value.bytes, at: 0) == nil)
    }
  }

  @Test func `the owner's pause holds until it is taken back, whatever the sink says`() async throws
  {
    let origin = try origin()
    try await withEngine { engine in
      let handle = ExchangeHandle()
      let sink = Recorder(keepsBytes: false) { log in
        if log.buffers == 1 { handle.pause() }
        return .more
      }
      async let done = engine.perform(
        ExchangeRequest(url: origin.url("/")), sink: sink, handle: handle)
      try await sink.received(1)
      handle.resume()
      // A second exchange goes through while the first is held.
      let (other, _) = await engine.fetch(origin.url("/other"), Recorder(keepsBytes: false))
      #expect(other.outcome == .complete)
      #expect(sink.log.value.count < Self.size)
      #expect(!origin.log.value.exchanges[0].isOver)
      handle.unpause()
      #expect(await done.outcome == .complete)
      #expect(sink.log.value.count == Self.size)
    }
  }

  @Test func `buffers that are all out hold exchanges back until they return`() async throws {
    let origin = try origin()
    var configuration = Engine.Configuration.test
    configuration.maxBuffers = 3
    try await withEngine(configuration) { engine in
      let hoard = Hoard()
      async let first = engine.perform(ExchangeRequest(url: origin.url("/1")), sink: hoard)
      async let second = engine.perform(ExchangeRequest(url: origin.url("/2")), sink: hoard)
      var total: Int64 = 0
      while total < 2 * Self.size {
        try await hoard.buffers.first("a buffer") { $0.isEmpty ? nil : () }
        let taken = hoard.takeAll()
        #expect(taken.count <= 3)
        total += taken.bytes
      }
      #expect(await first.outcome == .complete)
      #expect(await second.outcome == .complete)
    }
  }

  @Test(arguments: ["head", "body"])
  func `cancelling ends an exchange while it waits`(_ stage: String) async throws {
    let never = Gate("never opened while the exchange runs")
    let origin = try OriginServer { _, reply in
      if stage == "body" { try reply.answer("Content-Length: 10", "12345") }
      try reply.wait(for: never)
    }
    try await withEngine { engine in
      let handle = ExchangeHandle()
      let sink = Recorder()
      async let done = engine.perform(
        ExchangeRequest(url: origin.url("/")), sink: sink, handle: handle)
      _ = try await origin.request(1)
      if stage == "body" { try await sink.received(5) }
      handle.cancel()
      let result = await done
      #expect(result.outcome == .cancelled)
      #expect((result.head != nil) == (stage == "body"))
    }
    never.open()
  }

  @Test func `cancelling the task cancels, also before the start`() async throws {
    let origin = try origin()
    try await withEngine { engine in
      let sink = Recorder(keepsBytes: false) { _ in .pause }
      let task = Task {
        await engine.perform(ExchangeRequest(url: origin.url("/")), sink: sink)
      }
      try await sink.received(1)
      task.cancel()
      #expect(await task.value.outcome == .cancelled)

      let handle = ExchangeHandle()
      handle.cancel()
      let early = await engine.perform(
        ExchangeRequest(url: origin.url("/")), sink: Recorder(), handle: handle)
      #expect(early.outcome == .cancelled)
    }
    #expect(origin.log.value.exchanges.count == 1)
  }

  @Test func `a thread that does not come back is freed by the end of its connections`()
    async throws
  {
    let broken = Gate("the connection is broken")
    let origin = try OriginServer { _, reply in
      try reply.answer("Content-Length: 10", "12345")
      try reply.waitUntilPeerCloses()
      broken.open()
    }
    var configuration = Engine.Configuration.test
    configuration.stallTime = .seconds(1)
    try await withEngine(configuration) { engine in
      // Like a library below libcurl that waits for nothing but the connection.
      let sink = Recorder { _ in
        try? broken.waitBlocking()
        return .more
      }
      let (result, _) = await engine.fetch(origin.url("/"), sink)
      #expect(broken.isOpen)
      #expect(result.outcome.isTruncated || result.outcome.isStalled)
    }
  }

  @Test func `shutting down ends what runs and refuses what comes`() async throws {
    let origin = try origin()
    let engine = try Engine(.test)
    let sink = Recorder(keepsBytes: false) { _ in .pause }
    async let running = engine.perform(ExchangeRequest(url: origin.url("/")), sink: sink)
    try await sink.received(1)
    async let one: Void = engine.shutdown()
    async let two: Void = engine.shutdown()
    _ = await (one, two)
    #expect(await running.outcome == .cancelled)
    let (late, _) = await engine.fetch(origin.url("/"))
    #expect(late.outcome == .cancelled)
    await engine.shutdown()
  }
}

/// Keeps every buffer until told to let go.
private final class Hoard: BodySink {
  let buffers = Watched<[GatherBuffer]>([])

  func head(_ head: ResponseHead) -> HeadVerdict { .accept }

  func body(_ buffer: GatherBuffer) -> BodyVerdict {
    buffers.update { $0.append(buffer) }
    return .more
  }

  /// How many were kept, and their bytes; they go back to the pool.
  func takeAll() -> (count: Int, bytes: Int64) {
    let taken = buffers.update { kept in
      defer { kept = [] }
      return kept
    }
    return (taken.count, taken.reduce(0) { $0 + Int64($1.count) })
  }
}
