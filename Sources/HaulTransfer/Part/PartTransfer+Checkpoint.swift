import Synchronization

/// Durable progress: the bytes first, then their record.
extension PartTransfer {
  /// Saves what is written, if there is something new that could be resumed. One at a time: a call
  /// during another one waits for that one. Does nothing once the run is over.
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

  /// Saves every ``TransferRequest/checkpointTime`` until cancelled, from the beginning of one to that of the next: however long
  /// the disk takes, a death costs no more than that time and one write.
  func keepSaving() async {
    var begun = ContinuousClock.now
    var time = order.firstCheckpoint ?? order.checkpointTime
    while (try? await Task.sleep(until: begun + time, clock: .continuous)) != nil {
      begun = .now
      time = order.checkpointTime
      await checkpoint()
    }
  }

  /// The last one of a run: waits for one under way, then saves what has come since.
  func finalCheckpoint() async {
    await shared.withLock { $0.saving }?.value
    await checkpoint()
  }

  /// ``finalCheckpoint()``, but a slow disk is not waited for. The answer to an earlier record is:
  ///   the database is silent → the transfer is stopped → it answers, and takes the rest.
  func checkpointAtStop() async {
    await Self.within(order.stopTime) { await self.finalCheckpoint() }
    while order.awaitsAnswer(), let saving = shared.withLock({ $0.saving }) {
      await saving.value
      await Self.within(order.stopTime) { await self.finalCheckpoint() }
    }
  }

  /// From here on nothing is saved but what has been handed to `save` already, which is waited for.
  func endCheckpoints() async {
    let saving = shared.withLock { shared in
      shared.isOver = true
      return shared.saving
    }
    await saving?.value
  }

  private func endSaving() { shared.withLock { $0.saving = nil } }

  /// Syncs, then hands the record to `save`.
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
    // A failure stays with the writer and ends the transfer at its next flush.
    guard let durable = try? await writer.sync(), let part = try? await writer.part() else {
      return
    }
    var record = template
    record.advance(to: durable)
    record.inode = part.inode
    // Not after another body has begun, nor after the owner was told that the run is over:
    //   stop → sync takes too long → the run ends, the job is released → the sync returns.
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
