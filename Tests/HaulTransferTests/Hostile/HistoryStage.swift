import HaulSystem
import Synchronization
import TestSupport

@testable import HaulTransfer

/// Where histories take place: two origins that serve them all, two engines, one disk.
final class HistoryStage: Sendable {
  let directory: TemporaryDirectory
  let io: IOPool
  /// Takes a body that stops for a stall at once.
  let impatient: Engine
  let patient: Engine
  let hosts: [String]
  private let origins: [OriginServer]
  private let sources = Sources()

  private final class Sources: Sendable {
    let byName = Mutex<[Substring: HostileSource]>([:])
  }

  init() throws {
    directory = try TemporaryDirectory()
    io = try IOPool(threads: 4)
    var configuration = Engine.Configuration.test
    patient = try Engine(configuration)
    configuration.stallTime = .milliseconds(250)
    impatient = try Engine(configuration)
    origins = try ["127.0.0.1", "127.0.0.2"].map { [sources] address in
      try OriginServer(address: address) { request, reply in
        let name = request.path.dropFirst().prefix { $0 != "/" }
        let source = sources.byName.withLock { $0[name] }
        try source?.answer(request, reply)
      }
    }
    hosts = origins.map(\.host)
  }

  func open(_ name: String, _ source: HostileSource) {
    sources.byName.withLock { $0[Substring(name)] = source }
  }

  func close(_ name: String) {
    sources.byName.withLock { $0[Substring(name)] = nil }
  }

  /// Runs a history for each seed, so many at a time that none waits for another's stall.
  func run(_ seeds: [UInt64]) async throws -> History.Account {
    try await withThrowingTaskGroup(of: History.Account.self) { group in
      var account = History.Account()
      var waiting = seeds.enumerated().makeIterator()
      func next() {
        guard let (index, seed) = waiting.next() else { return }
        group.addTask { try await History(seed: seed, name: "\(index)", on: self).run() }
      }
      for _ in 0..<32 { next() }
      while let ended = try await group.next() {
        account.add(ended)
        next()
      }
      await impatient.shutdown()
      await patient.shutdown()
      return account
    }
  }
}
