import Foundation
import Glibc
import TestSupport
import Testing

/// Stopped at random moments and started again until all is there.
@Suite(.serialized) struct GetStopTests {
  private struct File: Sendable {
    let name: String
    let seed: UInt64
    let length: Int64
  }

  /// Nothing, small ones, and some of several checkpoints' worth.
  private static let files = (0..<24).map { index in
    let lengths: [Int64] = [0, 1, 1000, 16_384, 70_000, 300_000, 2 << 20, 6 << 20]
    return File(name: "f\(index)", seed: UInt64(index), length: lengths[index % lengths.count])
  }

  /// When a run is stopped: after so many more requests, or so many more bytes.
  private enum Moment: Sendable, CustomStringConvertible {
    case requests(Int)
    case bytes(Int64)

    static func random(using random: inout SplitMix) -> Moment {
      Bool.random(using: &random)
        ? .requests(.random(in: 1...8, using: &random))
        : .bytes(.random(in: 1...6_000_000, using: &random))
    }

    func isReached(in log: OriginLog, since before: OriginLog) -> Bool {
      switch self {
      case .requests(let count): log.exchanges.count >= before.exchanges.count + count
      case .bytes(let count): log.sent() >= before.sent() + count
      }
    }

    var description: String {
      switch self {
      case .requests(let count): "after \(count) requests"
      case .bytes(let count): "after \(count) bytes"
      }
    }
  }

  /// Ten times, or until a run is through before its moment.
  @Test(arguments: [SIGINT, SIGKILL], [UInt64.random(in: 0...9999)])
  func `all files are right in the end, whenever it is stopped`(
    signal: Int32, seed: UInt64
  ) async throws {
    var random = SplitMix(state: seed)
    let place = try await GetPlace()
    let files = Dictionary(uniqueKeysWithValues: Self.files.map { ("/\($0.name)", $0) })
    let origin = try OriginServer { request, reply in
      guard let file = files[request.path] else { return }
      try Representation(seed: file.seed, length: file.length).answer(request, reply)
    }
    let list = try place.list(Self.files.map { origin.url("/\($0.name)") })
    var history = "seed \(seed)"
    for _ in 0..<10 {
      let moment = Moment.random(using: &random)
      let before = origin.log.value
      let run = try place.start("-i", list, "-j", "4")
      try await reached(moment, at: origin, since: before, orEndOf: run)
      run.signal(signal)
      let exit = try await run.exit(within: .seconds(60))
      history += "; \(moment): \(exit)"
      if exit == .code(0) { break }
      let stopped: ChildProcess.Exit = signal == SIGINT ? .code(75) : .signal(signal)
      let said = run.child.output.value.standardError.joined(separator: "\n")
      #expect(exit == stopped, "\(history)\n\(said)")
    }
    let last = try await place.get("-i", list)
    #expect(last.exit == .code(0), "\(history)\n\(last.standardError.joined(separator: "\n"))")
    #expect(try place.files() == files.values.map(\.name).sorted(), "\(history)")
    for file in files.values {
      let difference = try FileTree.firstDifference(
        of: "\(place.directory)/\(file.name)", from: Pattern(seed: file.seed), length: file.length)
      #expect(difference == nil, "\(file.name); \(history)")
    }
    try await place.serverGone()
  }

  private func reached(
    _ moment: Moment, at origin: OriginServer, since before: OriginLog, orEndOf run: HaulProcess
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await origin.log.first("\(moment)", within: .seconds(60)) {
          moment.isReached(in: $0, since: before) ? () : nil
        }
      }
      group.addTask { try await run.exit(within: .seconds(60)) }
      try await group.next()
      group.cancelAll()
    }
  }
}

/// Splitmix64 (Steele, Lea, Flood 2014): the same seed gives the same moments.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
