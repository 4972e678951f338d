import Synchronization

/// Durable progress: the bytes first, then their record.
extension PartTransfer {
  /// Saves what is written, if there is something new that could be resumed. One at a time: whoever comes while
  /// one is under way waits for that one.
  func checkpoint() async {
    let saving = shared.withLock { shared -> Task<Void, Never> in
      if let saving = shared.saving { return saving }
      let saving = Task {
        await saveOnce()
        endSaving()
      }
      shared.saving = saving
      return saving
    }
    await saving.value
  }

  /// The last one of a run: waits for one under way, then saves what has come since.
  func finalCheckpoint() async {
    await shared.withLock { $0.saving }?.value
    await checkpoint()
  }

  private func endSaving() { shared.withLock { $0.saving = nil } }

  /// Syncs, then hands the record to `save`.
  private func saveOnce() async {
    let begun = shared.withLock { shared -> (FileWriter, Checkpoint, Int)? in
      guard !shared.isLost, let body = shared.body, let writer = body.writer,
        let record = body.record, record.validator != nil,
        shared.report.fetched > shared.savedFetched
      else { return nil }
      shared.savedFetched = shared.report.fetched
      return (writer, record, body.generation)
    }
    guard let (writer, template, generation) = begun else { return }
    // A failure stays with the writer and ends the transfer at its next flush.
    guard let durable = try? await writer.sync(), let part = try? await writer.part() else {
      return
    }
    var record = template
    record.durable = durable
    record.inode = part.inode
    let isCurrent = shared.withLock { $0.body?.generation == generation }
    guard isCurrent, record.isResumable else { return }
    if await !save(record) {
      let handle = shared.withLock { shared in
        shared.isLost = true
        return shared.handle
      }
      handle?.cancel()
    }
  }
}
