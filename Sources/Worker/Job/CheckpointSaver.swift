import HaulSystem
import HaulTransfer
import JobQueue
import Log
import Stores
import Synchronization

/// Turns one transfer's durable progress into its row. The bytes are synced when it is called; the part file's name is made
/// durable here, once.
final class CheckpointSaver: Sendable {
  let lease: Lease
  let parts: PartDirectory
  /// Whose directory `parts` is in.
  let store: Store
  let environment: RunEnvironment
  let logger: Logger
  /// Parts with a checkpoint that was passed on to be saved.
  private let handedOver = Mutex<Set<String>>([])
  /// Records that wait for the database.
  private let waiting = Atomic(0)

  init(
    lease: Lease, parts: PartDirectory, store: Store, environment: RunEnvironment, logger: Logger
  ) {
    self.lease = lease
    self.parts = parts
    self.store = store
    self.environment = environment
    self.logger = logger
  }

  /// Whether the database knows a checkpoint of this transfer, or may come to know one that is still on its way to it:
  ///   handed over → no answer for long → the run ends → the database takes it in.
  var hasSaved: Bool { handedOver.withLock { !$0.isEmpty } }

  /// Whether the database has not answered yet.
  var awaitsAnswer: Bool { waiting.load(ordering: .acquiring) > 0 }

  /// Records `checkpoint`; false when the lease is gone.
  func save(_ checkpoint: Checkpoint) async -> Bool {
    let isFirst = handedOver.withLock { !$0.contains(checkpoint.part) }
    if isFirst {
      let isSynced = await store.io.run { [parts] in (try? parts.sync()) != nil }
      // The disk does not keep it: nothing is claimed of it, and the transfer goes on without a checkpoint.
      guard isSynced else { return true }
    }
    guard let row = CheckpointRow(lease, checkpoint, intent: nil) else { return true }
    handedOver.withLock { _ = $0.insert(checkpoint.part) }
    waiting.add(1, ordering: .acquiringAndReleasing)
    let isLive = await environment.checkpoints.save(row)
    waiting.subtract(1, ordering: .acquiringAndReleasing)
    if isLive {
      logger.info(
        .jobCheckpoint, (.offset, LogValue(checkpoint.durable.prefixEnd)),
        (.bytes, LogValue(checkpoint.durable.count)), (.total, LogValue(checkpoint.completeLength)))
    }
    return isLive
  }
}

extension CheckpointRow {
  /// The row of `checkpoint` under `lease`; nil where it cannot be written as JSON.
  init?(_ lease: Lease, _ checkpoint: Checkpoint, intent: String?) {
    guard let resume = try? checkpoint.resumeData() else { return nil }
    self.init(
      job: lease.job, token: lease.token, instance: lease.instance,
      durable: checkpoint.durable.description, length: checkpoint.completeLength,
      resume: String(decoding: resume, as: UTF8.self), intent: intent)
  }
}
