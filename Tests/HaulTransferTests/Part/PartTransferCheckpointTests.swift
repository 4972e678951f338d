import Glibc
import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Durable progress: when it is recorded, and that it is never ahead of the disk.
@Suite(.timeLimit(.minutes(5)))
struct PartTransferCheckpointTests {
  private let source = Source(seed: 3, length: 8 << 20)
  /// Each opened by a checkpoint: the origin sends the next 2 MiB only then.
  private let gates = [Gate("2 MiB"), Gate("4 MiB"), Gate("6 MiB")]

  private var gated: Source {
    var gated = source
    for (index, gate) in gates.enumerated() { gated.gates[Int64(index + 1) << 21] = gate }
    return gated
  }

  @Test(.enabled("mounting takes root and loop devices") { await TestFileSystem.isPossible })
  func `what is recorded is on the disk when the power goes`() async throws {
    let bench = try PartTransferBench()
    let disk = try await TestFileSystem(ext4: 32 << 20)
    let origin = try OriginServer(handler: gated.handler)
    let checked = Watched(0)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) { order in
        order.makePart = PartDirectory(try FileDescriptor.directory(disk.path)).make
        order.checkpointBytes = 1 << 20
      } save: { [source, gates] checkpoint in
        await #expect(throws: Never.self) {
          let after = try await disk.afterPowerLoss()
          let parts = PartDirectory(try FileDescriptor.directory(after.path))
          let end = checkpoint.durable.end
          let part = try #require(
            try parts.open(
              checkpoint.part, inode: checkpoint.inode, holding: end, of: source.length))
          var bytes = [UInt8](repeating: 0, count: Int(end))
          let count = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: 0) }
          #expect(count == Int(end))
          #expect(source.pattern.firstDifference(of: bytes, at: 0) == nil)
        }
        checked.update { $0 += 1 }
        gates.first { !$0.isOpen }?.open()
        return true
      }
      #expect(try await transfer.run().holds(source))
    }
    #expect(checked.value >= 3 && checked.value == bench.saved.value.count)
  }

  @Test func `one each so many bytes, growing, and none for a file that is smaller`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: gated.handler)
    try await withEngine { engine in
      for limit in [1 << 20, 8 << 20 + 1] as [Int64] {
        bench.saved.update { $0 = [] }
        let transfer = try bench.transfer(origin.url("/"), engine: engine) {
          $0.checkpointBytes = limit
        } save: { [gates] _ in
          gates.first { !$0.isOpen }?.open()
          return true
        }
        #expect(try await transfer.run().holds(source))
        let ends = bench.saved.value.map(\.durable.prefixEnd)
        #expect(ends == ends.sorted() && Set(ends).count == ends.count)
        #expect(limit > source.length ? ends.isEmpty : (3...8).contains(ends.count))
      }
    }
  }

  @Test func `a slow transfer is recorded by time, and not again while nothing comes`() async throws
  {
    let bench = try PartTransferBench()
    let gates = [Gate("2"), Gate("3")]
    var source = source
    source.gates = [100_000: gates[0], 200_000: gates[1]]
    let origin = try OriginServer(handler: source.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) {
        $0.checkpointTime = .milliseconds(20)
      }
      async let outcome = transfer.run()
      for (index, gate) in gates.enumerated() {
        try await bench.saved.first("checkpoint \(index + 1)") {
          $0.count == index + 1 ? () : nil
        }
        gate.open()
      }
      #expect(try await outcome.holds(source))
    }
    #expect(bench.saved.value.prefix(2).map(\.durable.prefixEnd) == [100_000, 200_000])
  }

  /// Otherwise a crash would cost what comes during a slow checkpoint, and what comes in the time after it.
  @Test func `the time between two checkpoints counts from the start of the first`() async throws {
    let bench = try PartTransferBench()
    let gate = Gate("the rest")
    var source = source
    source.gates = [100_000: gate]
    let origin = try OriginServer(handler: source.handler)
    let begun = Gate("the first")
    let through = Gate("the first is through")
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) {
        $0.firstCheckpoint = .milliseconds(20)
        $0.checkpointTime = .seconds(3600)
      } save: { _ in
        begun.open()
        return (try? await through.wait()) != nil
      }
      async let outcome = transfer.run()
      try await begun.wait()
      let during = ContinuousClock.now
      through.open()
      var next: ContinuousClock.Instant?
      try await eventually("the next is planned") {
        next = transfer.nextSave
        return next != nil
      }
      #expect(try #require(next) < during + .seconds(3600))
      gate.open()
      #expect(try await outcome.holds(source))
    }
  }

  @Test func `who loses the right to the job writes no more`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: gated.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) {
        $0.checkpointBytes = 1 << 20
      } save: { _ in
        false
      }
      #expect(await transfer.run().isLost)
      let part = try #require(try bench.scratch.parts().open("part"))
      let size = try part.size()
      gates[0].open()
      _ = try await origin.exchange(1)
      for _ in 0..<4 { await bench.io.run {} }
      #expect(try part.size() == size)
    }
    #expect(bench.saved.value.count == 1)
  }

  @Test func `the last record of a stop may be refused too`() async throws {
    let bench = try PartTransferBench()
    var source = source
    let gate = Gate("the rest")
    source.gates = [100_000: gate]
    let origin = try OriginServer(handler: source.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) { _ in
      } save: { _ in
        false
      }
      async let outcome = transfer.run()
      try await eventually("the first piece") { transfer.progress.bytes == 100_000 }
      transfer.stop()
      #expect(await outcome.isLost)
    }
    gate.open()
  }

  /// bytes → checkpoint begins → the body ends → the run returned → the checkpoint was recorded over
  /// the intent to publish.
  @Test func `a transfer is not complete before its checkpoint under way is through`() async throws
  {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: gated.handler)
    let saving = Gate("saving")
    let saved = Gate("saved")
    let events = Watched<[String]>([])
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) {
        $0.checkpointBytes = 1 << 20
      } save: { _ in
        saving.open()
        await #expect(throws: Never.self) { try await saved.wait() }
        events.update { $0.append("saved") }
        return true
      }
      async let outcome = run(transfer, events)
      try await saving.wait()
      for gate in gates { gate.open() }
      try await eventually("all of it") { transfer.progress.bytes == source.length }
      saved.open()
      #expect(try await outcome.holds(source))
    }
    #expect(events.value == ["saved", "over"])
  }

  /// stop → the disk hangs → the run returned and the job was released → the sync came back → a record
  /// was saved for a job of somebody else.
  @Test func `what cannot be synced in time is not recorded later`() async throws {
    let bench = try PartTransferBench(threads: 1)
    var source = source
    let gate = Gate("the rest")
    source.gates = [100_000: gate]
    let origin = try OriginServer(handler: source.handler)
    let release = Gate("the disk goes on")
    bench.io.submit { #expect(throws: Never.self) { try release.waitBlocking() } }
    try await withEngine { engine in
      weak var left: PartTransfer?
      do {
        let transfer = try bench.transfer(origin.url("/"), engine: engine) {
          $0.stopTime = .milliseconds(10)
        }
        left = transfer
        async let outcome = transfer.run()
        try await eventually("the first piece") { transfer.progress.bytes == 100_000 }
        transfer.stop()
        #expect(await outcome.isStopped)
      }
      release.open()
      // The late checkpoint holds the transfer until it is through.
      try await eventually("the late sync to be over") { left == nil }
      #expect(bench.saved.value.isEmpty)
    }
    gate.open()
  }

  @Test func `a stop during a checkpoint waits for it, and the next one has the rest`() async throws
  {
    let bench = try PartTransferBench()
    var source = source
    let gate = Gate("the rest")
    let second = Gate("what comes during the checkpoint")
    source.gates = [2 << 20: second, 4 << 20: gate]
    let origin = try OriginServer(handler: source.handler)
    let saving = Gate("saving")
    let saved = Gate("saved")
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) {
        $0.checkpointBytes = 1 << 20
      } save: { _ in
        saving.open()
        return (try? await saved.wait()) != nil
      }
      async let outcome = transfer.run()
      try await saving.wait()
      second.open()
      try await eventually("the first half") { transfer.progress.bytes == 4 << 20 }
      transfer.stop()
      saved.open()
      #expect(await outcome.isStopped)
      let ends = bench.saved.value.map(\.durable.prefixEnd)
      #expect(ends.count >= 2 && ends.last == 4 << 20)
    }
    gate.open()
  }

  /// The database is silent → the transfer is stopped → the database answers.
  @Test func `a stop waits for the answer to a record, and the next one has the rest`() async throws
  {
    let bench = try PartTransferBench()
    var source = source
    let (gate, second) = (Gate("the rest"), Gate("what comes during the silence"))
    source.gates = [2 << 20: second, 4 << 20: gate]
    let origin = try OriginServer(handler: source.handler)
    let (saving, late, answered) = (Gate("saving"), Gate("the time of a stop"), Gate("the answer"))
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) {
        $0.checkpointBytes = 1 << 20
        $0.stopTime = .milliseconds(10)
        $0.awaitsAnswer = {
          late.open()
          return true
        }
      } save: { _ in
        saving.open()
        return (try? await answered.wait()) != nil
      }
      async let outcome = transfer.run()
      try await saving.wait()
      second.open()
      try await eventually("the first half") { transfer.progress.bytes == 4 << 20 }
      transfer.stop()
      try await late.wait()
      answered.open()
      #expect(await outcome.isStopped)
      #expect(bench.saved.value.last?.durable.prefixEnd == 4 << 20)
    }
    gate.open()
  }

  private func run(
    _ transfer: PartTransfer, _ events: Watched<[String]>
  ) async -> TransferOutcome {
    let outcome = await transfer.run()
    events.update { $0.append("over") }
    return outcome
  }
}
