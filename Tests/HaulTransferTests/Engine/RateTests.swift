import TestSupport
import Testing

@testable import HaulTransfer

struct RatePaceTests {
  private let start = ContinuousClock.now

  /// Pieces of all sizes, taken as soon as they may be, by somebody who always wakes `late`.
  @Test(arguments: [1000, 1_000_000, 3_000_000_000] as [Int64], [0, 3, 90])
  func `a rate holds over every stretch of time, and is used up`(rate: Int64, late: Int) {
    var pace = RatePace(bytesPerSecond: rate)
    var now = start
    var taken: [(at: ContinuousClock.Instant, sum: Int64)] = [(now, 0)]
    for number in 0..<400 {
      let wait = pace.wait(now: now)
      if wait > .zero { now += wait + .milliseconds(late) }
      let count = [16_384, 1, 5000, 700][number % 4]
      pace.consume(count, now: now)
      taken.append((now, (taken.last?.sum ?? 0) + Int64(count)))
    }
    let allowance = RatePace.slack / .seconds(1) * Double(rate) + 16_384 + 1
    for (index, from) in taken.enumerated() {
      for to in taken[index...] {
        let most = (to.at - from.at) / .seconds(1) * Double(rate) + allowance
        #expect(Double(to.sum - from.sum) <= most)
      }
    }
    let due = (now - start - .milliseconds(late)) / .seconds(1) * Double(rate)
    #expect(Double(taken.last?.sum ?? 0) >= due - 1)
  }

  @Test func `time that nobody used is lost but for the slack`() {
    var pace = RatePace(bytesPerSecond: 1000)
    #expect(pace.wait(now: start) <= .zero)
    pace.consume(1, now: start)
    let later = start + .seconds(3600)
    pace.consume(600, now: later)
    #expect(pace.wait(now: later) == .milliseconds(500))
  }
}

/// The engine's rate and an exchange's own.
@Suite(.timeLimit(.minutes(5)))
struct EngineRateTests {
  /// What libcurl hands over at once.
  private static let piece: Int64 = 16_384

  private func origin(_ length: Int64) throws -> OriginServer {
    try OriginServer { request, reply in
      try Representation(seed: 4, length: length).answer(request, reply)
    }
  }

  /// At one byte a second, whoever has had a piece waits for hours.
  @Test(arguments: [true, false])
  func `a rate holds back; the engine's counts for all together`(isShared: Bool) async throws {
    let origin = try origin(64 << 20)
    var configuration = Engine.Configuration.test
    if isShared { configuration.rateLimit = RateLimit(bytesPerSecond: 1) }
    try await withEngine(configuration) { engine in
      let (handles, sinks) = ([ExchangeHandle(), ExchangeHandle()], [Recorder(), Recorder()])
      await withTaskGroup { group in
        for (handle, sink) in zip(handles, sinks) {
          let own = isShared ? nil : RateLimit(bytesPerSecond: 1)
          group.addTask {
            let request = ExchangeRequest(url: origin.url("/"), rateLimit: own)
            let result = await engine.perform(request, sink: sink, handle: handle)
            #expect(result.outcome == .cancelled)
          }
        }
        await #expect(throws: Never.self) {
          for sink in sinks {
            try await sink.log.first("a head", within: .seconds(30)) { $0.head.map { _ in } }
            if !isShared { try await sink.received(1) }
          }
          try await eventually("a piece") { sinks.contains { $0.log.value.count > 0 } }
        }
        for handle in handles { handle.cancel() }
      }
      let counts = sinks.map(\.log.value.count)
      #expect(isShared ? counts.reduce(0, +) == Self.piece : counts == [Self.piece, Self.piece])
    }
  }

  @Test func `all get their share, and the bytes are right`() async throws {
    // Made before, and little: a busy origin is not to be what holds one of them back.
    let length: Int64 = 256 << 10
    let bytes = Pattern(seed: 4).bytes(in: 0..<length)
    let gate = Gate("all have their heads")
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(length)")
      try reply.wait(for: gate)
      try reply.body(bytes)
    }
    var configuration = Engine.Configuration.test
    configuration.rateLimit = RateLimit(bytesPerSecond: 1 << 20)
    try await withEngine(configuration) { engine in
      let sinks = (0..<8).map { _ in Recorder() }
      let least = await withTaskGroup(of: Void.self) { group in
        for sink in sinks {
          group.addTask {
            let result = await engine.perform(ExchangeRequest(url: origin.url("/")), sink: sink)
            #expect(result.outcome == .complete)
          }
        }
        await #expect(throws: Never.self) {
          for sink in sinks {
            try await sink.log.first("a head", within: .seconds(60)) { $0.head.map { _ in } }
          }
        }
        gate.open()
        await group.next()
        return sinks.map(\.log.value.count).min() ?? 0
      }
      // In turns of 16 KiB they are nearly level; what is not handed over yet makes up for the rest.
      #expect(least >= length / 4)
      for sink in sinks {
        #expect(sink.log.value.count == length)
        #expect(Pattern(seed: 4).firstDifference(of: sink.log.value.bytes, at: 0) == nil)
      }
    }
  }

  /// More than a second in all, in which no second brings what the floor asks for.
  @Test func `who is held back is not stalled`() async throws {
    let origin = try origin(512 << 10)
    var configuration = Engine.Configuration.test
    configuration.rateLimit = RateLimit(bytesPerSecond: 256 << 10)
    configuration.stallTime = .seconds(1)
    configuration.stallFloor = 1 << 30
    try await withEngine(configuration) { engine in
      let (result, _) = await engine.fetch(origin.url("/"))
      #expect(result.outcome == .complete)
    }
  }
}
