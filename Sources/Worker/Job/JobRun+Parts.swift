import HaulSystem
import HaulTransfer
import JobQueue
import Log
import Stores

/// Finds files on the disk, and cleans up part files.
extension JobRun {
  /// Returns the source's validators for the file that the job downloaded before. Returns nil if that file now has another length
  /// or does not meet the job's requirements. In this case Haul downloads the whole file again.
  func source(
    ofFileAt path: RelativePath, in store: Store
  ) async throws(TransferError) -> SourceRecord? {
    guard let earlier = lease.earlier, let source = earlier.source, let bytes = earlier.bytes,
      earlier.satisfies(lease.options)
    else { return nil }
    let size = try await store.io.run { () throws(TransferError) in
      try store.destination.open(path)?.size()
    }
    guard size == bytes else { return nil }
    var record = SourceRecord(fields: source)
    record.length = bytes
    return record
  }

  func publish(
    _ part: PartFile, _ length: Int64, _ report: TransferReport, isKept: Bool,
    _ publisher: Publisher
  ) async -> LeaseEnding? {
    do throws(TransferError) {
      guard let published = try await publisher.publish(part, length: length, isKept: isKept)
      else { return lost(report) }
      await removeParts(report.leftover, in: publisher.parts, of: publisher.store)
      switch published {
      case .placed(let placed):
        return completed(
          bytes: length, path: placed.description, report: report, digest: report.digest)
      case .skipped(let bytes):
        return skipped(bytes: bytes, path: publisher.path.description, report: report)
      }
    } catch {
      // The part is of no use to a later attempt unless a checkpoint refers to it.
      if !isKept { await removeParts([part.name], in: publisher.parts, of: publisher.store) }
      return failure(error, report: report)
    }
  }

  func lost(_ report: TransferReport) -> LeaseEnding {
    logger.warning(.leaseLost, (.path, LogValue(lease.path)))
    // The lease has ended, so the database takes only the number of received bytes from this report.
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
    fill(&ending, report)
    return ending
  }

  func removeOwnParts(_ parts: PartDirectory, of store: Store) async {
    let own = PartName(job: lease.job, token: lease.token)
    // Do not compare only the start of the name: `5.1` is also the start of `5.10`, which may be the part of the job's current
    // worker.
    let names = await store.io.run {
      ((try? parts.names(startingWith: own.text)) ?? []).filter { PartName($0) == own }
    }
    await removeParts(names, in: parts, of: store)
  }

  func removeParts(
    _ names: [String], in parts: PartDirectory, of store: Store
  ) async {
    guard !names.isEmpty else { return }
    await store.io.run {
      // The janitor removes the parts that cannot be removed now.
      for name in names { try? parts.remove(name) }
    }
  }
}
