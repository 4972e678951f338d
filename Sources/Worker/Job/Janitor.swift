import HaulSystem
import HaulTransfer
import JobQueue
import Log
import Stores

/// Removes part files that are no longer needed, because their jobs have ended, are deleted, or wait without a checkpoint.
/// Keeps the part files of running jobs and of other pools.
struct Janitor: Sendable {
  static let interval = Duration.seconds(60)

  let database: Database
  let stores: OpenStores
  let registration: Registration
  let logger: Logger

  /// Checks all stores once a minute until the task is cancelled.
  func run() async {
    while (try? await Task.sleep(for: Self.interval)) != nil { await sweep() }
  }

  /// Checks all stores once, and removes part files that are not needed.
  func sweep() async {
    for known in registration.stores {
      guard let store = stores[known.store] else { continue }
      do {
        try await sweep(store, instance: known.instance)
      } catch is CancellationError {
        return
      } catch {
        logger.warning(
          .janitorFailed, (.store, LogValue(known.store)), (.reason, LogValue("\(error)")))
      }
    }
  }

  private func sweep(_ store: Store, instance: Int) async throws {
    let pool = registration.pool
    let shards = try await store.io.run { () throws(TransferError) in
      try store.root.makeDirectories(Store.partsPath(pool)).names()
    }
    for shard in shards {
      let parts = try await store.io.run { () throws(TransferError) in
        PartDirectory(try store.root.makeDirectories("\(Store.partsPath(pool))/\(shard)"))
      }
      let names = try await store.io.run { () throws(TransferError) in
        try parts.names(startingWith: "")
      }
      let found = Set(
        names.compactMap(PartName.init).map {
          HeartbeatReply.Held(job: $0.job, token: $0.token)
        })
      if found.isEmpty { continue }
      let caller = database.caller
      let unneeded = Set(
        try await database.queue {
          try await $0.unneededParts(caller, instance: instance, Array(found))
        })
      let doomed = names.filter { name in
        PartName(name).map { unneeded.contains(.init(job: $0.job, token: $0.token)) } ?? false
      }
      try await store.io.run { () throws(TransferError) in
        for name in doomed { try parts.remove(name) }
      }
      for name in doomed { logger.info(.janitorRemoved, (.part, LogValue(name))) }
    }
  }
}
