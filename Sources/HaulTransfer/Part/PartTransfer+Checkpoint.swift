import HaulSystem
import Synchronization

/// Saves durable progress: syncs the bytes first, then records them.
extension PartTransfer {
  /// Saves the written bytes, if some are new and a later attempt could resume after them. If a save is in progress, waits for
  /// it. Does nothing after the run has ended.
  func checkpoint() async {
    let saving = shared.withLock { shared -> Task<Void, Never>? in
      if shared.saving != nil || shared.isOver { return shared.saving }
      let saving = Task {
        await saveOnce()
        endSaving()
      }
      shared.saving = saving
      return saving
    }
    await saving?.value
  }

  /// The times at which the transfers of this process save.
  private static let alarms = Alarms()

  /// Saves every ``TransferRequest/checkpointTime`` until ``stopSaving()``, measured from the start of one save to the start of
  /// the next. Even with a slow disk, a crash costs at most the bytes received in that time and during one save.
  func keepSaving() {
    save(at: .now + (order.firstCheckpoint ?? order.checkpointTime))
  }

  private func save(at time: ContinuousClock.Instant) {
    Self.alarms.set(self, at: time) {
      Task {
        let begun = ContinuousClock.now
        await self.checkpoint()
        self.shared.withLock { shared in
          if shared.savesRegularly { self.save(at: begun + self.order.checkpointTime) }
        }
      }
    }
  }

  /// The time of the next regular save; nil if none is planned, or if one is in progress.
  var nextSave: ContinuousClock.Instant? { Self.alarms.time(of: self) }

  /// Ends ``keepSaving()``. A save in progress continues.
  func stopSaving() {
    shared.withLock { shared in
      shared.savesRegularly = false
      Self.alarms.remove(self)
    }
  }

  /// Saves for the last time in a run: waits for a save in progress, then saves the bytes written since.
  func finalCheckpoint() async {
    await shared.withLock { $0.saving }?.value
    await checkpoint()
  }

  /// Calls ``finalCheckpoint()``, but waits for the disk no longer than ``TransferRequest/stopTime``. If an earlier record
  /// still waits for the database's answer, waits for that answer, and then saves the rest.
  func checkpointAtStop() async {
    await Self.within(order.stopTime) { await self.finalCheckpoint() }
    while order.awaitsAnswer(), let saving = shared.withLock({ $0.saving }) {
      await saving.value
      await Self.within(order.stopTime) { await self.finalCheckpoint() }
    }
  }

  /// Ends saving. Waits for a record that was already passed to `save`; later records are not saved.
  func endCheckpoints() async {
    let saving = shared.withLock { shared in
      shared.isOver = true
      return shared.saving
    }
    await saving?.value
  }

  private func endSaving() { shared.withLock { $0.saving = nil } }

  /// Syncs the bytes, then passes the record to `save`.
  private func saveOnce() async {
    let begun = shared.withLock { shared -> (FileWriter, Checkpoint, Int)? in
      guard !shared.isLost, let body = shared.body, let writer = body.writer,
        let record = body.record, record.validator != nil, shared.isWorthSaving(body.position),
        shared.report.fetched > shared.savedFetched || shared.isRecordNew
      else { return nil }
      shared.savedFetched = shared.report.fetched
      shared.isRecordNew = false
      return (writer, record, body.generation)
    }
    guard let (writer, template, generation) = begun else { return }
    // The writer keeps a failure, which ends the transfer at the writer's next flush.
    guard let durable = try? await writer.sync(), let part = try? await writer.part() else {
      return
    }
    var record = template
    record.advance(to: durable)
    record.inode = part.inode
    // Do not save after another body has begun, or after the owner knows that the run is over. Example: a stop comes, the sync
    // takes too long, the run ends, the job is released, and then the sync returns.
    let isWanted = shared.withLock { !$0.isOver && $0.body?.generation == generation }
    guard isWanted, record.isResumable,
      shared.withLock({ $0.isWorthSaving(record.durable.count) })
    else { return }
    if await save(record) {
      shared.withLock { $0.giveUpBeside(after: record) }
    } else {
      change { shared in
        shared.isLost = true
        shared.body?.writer?.abandon()
        shared.handle?.cancel()
      }
    }
  }
}
