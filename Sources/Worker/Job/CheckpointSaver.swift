import HaulSystem
import HaulTransfer
import JobQueue
import Log
import Stores
import Synchronization

/// Writes one transfer's durable progress to its row in the database. The caller must sync the bytes first. The saver makes the
/// name of each part file durable, once per file.
final class CheckpointSaver: Sendable {
  let lease: Lease
  let parts: PartDirectory
  /// The store that contains the directory `parts`.
  let store: Store
  let environment: RunEnvironment
  let logger: Logger
  /// The part files for which a checkpoint was handed to the `CheckpointWriter`.
  private let handedOver = Mutex<Set<String>>([])
  /// The number of records that wait for the database.
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

  /// Whether the database has a checkpoint of this transfer, or may still receive one. The database may accept a checkpoint
  /// long after it was sent, even after the run has ended.
  var hasSaved: Bool { handedOver.withLock { !$0.isEmpty } }

  /// Whether a checkpoint waits for the database's answer.
  var awaitsAnswer: Bool { waiting.load(ordering: .acquiring) > 0 }

  /// Records `checkpoint`. Returns false if the lease is lost.
  func save(_ checkpoint: Checkpoint) async -> Bool {
    let isFirst = handedOver.withLock { !$0.contains(checkpoint.part) }
    if isFirst {
      let isSynced = await store.io.run { [parts] in (try? parts.sync()) != nil }
      // The name of the part file might not survive a crash. So no checkpoint is recorded, and the transfer continues.
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
  /// Creates the row for `checkpoint`, with the ids of `lease`. Returns nil if the checkpoint cannot be written as JSON.
  init?(_ lease: Lease, _ checkpoint: Checkpoint, intent: String?) {
    guard let resume = try? checkpoint.resumeData() else { return nil }
    self.init(
      job: lease.job, token: lease.token, instance: lease.instance,
      durable: checkpoint.durable.description, length: checkpoint.completeLength,
      resume: String(decoding: resume, as: UTF8.self), intent: intent)
  }
}
