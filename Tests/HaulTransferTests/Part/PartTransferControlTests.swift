import HaulSystem
import Synchronization
import TestSupport
import Testing

@testable import HaulTransfer

/// Stopping, pausing, waiting for the disk.
@Suite(.timeLimit(.minutes(5)))
struct PartTransferControlTests {
  static let length: Int64 = 64 << 20

  /// More than the kernel's buffers hold.
  private let large = Source(seed: 2, length: length)
  /// Sends the first 150,000 of 300,000 bytes, then waits.
  private let halfway = Gate("the second half")
  private let source: Source

  init() {
    var source = Source(seed: 1, length: 300_000)
    source.gates = [150_000: halfway]
    self.source = source
  }

  private func half(_ transfer: PartTransfer) async throws {
    try await eventually("half of it received") { transfer.progress.bytes == 150_000 }
  }

  @Test func `stopped and resumed twice, only the rest is asked for`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: source.handler)
    try await withEngine { engine in
      let first = try bench.transfer(origin.url("/"), engine: engine)
      async let one = first.run()
      try await half(first)
      #expect(first.progress == (150_000, 300_000, 150_000))
      first.stop()
      #expect(await one.isStopped)
      var left = try bench.leftBehind()
      #expect(left.checkpoint.part == "part")
      #expect(left.checkpoint.durable == ByteRanges(0..<150_000))

      // The second attempt takes over under a name of its own, and is stopped too.
      #expect(try bench.scratch.parts().rename("part", to: "part-2"))
      let second = try bench.transfer(origin.url("/"), engine: engine) { order in
        order.resuming = left
        order.partName = "part-2"
      }
      async let two = second.run()
      try await eventually("the overlap received") { second.progress.fetched == 4096 }
      #expect(second.progress == (150_000, 300_000, 4096))
      second.stop()
      #expect(await two.isStopped)
      // Its record names the part as it is called now: under the old name nobody would find it.
      left = try bench.leftBehind()
      #expect(left.checkpoint.part == "part-2")

      halfway.open()
      let third = try bench.transfer(origin.url("/"), engine: engine) { order in
        order.resuming = left
        order.partName = "part-2"
      }
      #expect(try await third.run().holds(source))
      #expect(third.progress == (300_000, 300_000, 154_096))
      #expect(third.report.resumedAt == 150_000)
    }
    #expect(origin.asked == ["whole", "145904-299999 if", "145904-299999 if"])
  }

  @Test(arguments: ["before", "connect", "head", "body"])
  func `a stop ends it wherever it is`(_ stage: String) async throws {
    let bench = try PartTransferBench()
    let never = Gate("the head")
    let origin = try OriginServer { [source] request, reply in
      if stage == "head" { try reply.wait(for: never) }
      try source.answer(request, reply)
    }
    // Nobody answers a TLS hello there.
    let url = stage == "connect" ? "https://\(origin.host)/" : origin.url("/")
    try await withEngine { engine in
      let transfer = try bench.transfer(url, engine: engine)
      if stage == "before" { transfer.stop() }
      async let outcome = transfer.run()
      switch stage {
      case "before": break
      case "connect": try await origin.log.first("a connection") { $0.connections == 1 ? () : nil }
      case "head": _ = try await origin.request(1)
      default: try await half(transfer)
      }
      transfer.stop()
      let end = await outcome
      #expect(end.isStopped, "\(end)")
      #expect(bench.saved.value.count == (stage == "body" ? 1 : 0))
      #expect(origin.log.value.exchanges.count == (["head", "body"].contains(stage) ? 1 : 0))
    }
    never.open()
    halfway.open()
  }

  @Test func `cancelling the task is a stop`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: source.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine)
      let task = Task { await transfer.run() }
      try await half(transfer)
      task.cancel()
      #expect(await task.value.isStopped)
      #expect(bench.saved.value.map(\.durable) == [ByteRanges(0..<150_000)])
    }
    halfway.open()
  }

  @Test(arguments: ["unpaused", "stopped", "cancelled"])
  func `what is paused asks for nothing`(_ end: String) async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: source.handler)
    halfway.open()
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine)
      transfer.pause()
      let task = Task { await transfer.run() }
      try await eventually("the run to wait") { transfer.shared.withLock { $0.held != nil } }
      switch end {
      case "unpaused": transfer.unpause()
      case "stopped": transfer.stop()
      default: task.cancel()
      }
      let outcome = await task.value
      if end == "unpaused" {
        #expect(try outcome.holds(source))
      } else {
        #expect(outcome.isStopped)
      }
    }
    #expect(origin.log.value.exchanges.count == (end == "unpaused" ? 1 : 0))
  }

  @Test func `a pause holds the connection, and the rest comes over it`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: large.handler)
    let gate = Gate("the second piece")
    var source = large
    source.gates = [100_000: gate]
    let gated = try OriginServer(handler: source.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(gated.url("/"), engine: engine)
      async let outcome = transfer.run()
      try await eventually("the first piece") { transfer.progress.bytes == 100_000 }
      transfer.pause()
      gate.open()
      // Another goes through, and this one is where it was but for what libcurl had read.
      let other = try bench.transfer(origin.url("/"), engine: engine) { $0.partName = "other" }
      #expect(try await other.run().holds(large))
      #expect(transfer.progress.bytes <= 100_000 + 16_384)
      #expect(!gated.log.value.exchanges[0].isOver)
      transfer.unpause()
      #expect(try await outcome.holds(large))
    }
    #expect(gated.log.value.connections == 1 && gated.asked == ["whole"])
  }

  @Test func `the network waits for a disk that is behind`() async throws {
    let bench = try PartTransferBench(threads: 1)
    let release = Gate("the disk goes on")
    bench.io.submit { #expect(throws: Never.self) { try release.waitBlocking() } }
    let origin = try OriginServer(handler: large.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine)
      async let outcome = transfer.run()
      try await eventually("the writer to be behind") { transfer.progress.bytes >= 4 * 240 << 10 }
      let free = try PartTransferBench()
      let other = try free.transfer(origin.url("/"), engine: engine)
      #expect(try await other.run().holds(large))
      #expect(transfer.progress.bytes <= 5 * 256 << 10)
      #expect(!origin.log.value.exchanges[0].isOver)
      release.open()
      #expect(try await outcome.holds(large))
    }
  }

  @Test(.enabled("mounting takes root") { await TestFileSystem.isPossible })
  func `a full disk`() async throws {
    let bench = try PartTransferBench()
    let small = try await TestFileSystem(tmpfs: 1 << 20)
    let origin = try OriginServer(handler: large.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) { order in
        order.makePart = PartDirectory(try FileDescriptor.directory(small.path)).make
      }
      #expect(await transfer.run().error?.errorClass == .diskFull)
    }
    #expect(origin.log.value.exchanges.count == 1)
  }

  @Test func `nothing keeps a transfer that is over`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(answering: [
      { [source] in try source.answer($0, $1, cut: .close(after: 100_000)) },
      { [source] in try source.answer($0, $1, cut: .close(after: 8192)) },
    ])
    try await withEngine { engine in
      weak var left: PartTransfer?
      do {
        let transfer = try bench.transfer(origin.url("/"), engine: engine) {
          $0.checkpointBytes = 1
        }
        left = transfer
        #expect(await transfer.run().error?.errorClass == .http5xx)
      }
      // The checkpoint that the last bytes called for ends after the run, and saves nothing then.
      let saved = bench.saved.value.count
      try await eventually("the transfer to go") { left == nil }
      #expect(bench.saved.value.count == saved)
      #expect(bench.saved.value.last?.durable == ByteRanges(0..<104_096))
    }
  }
}
