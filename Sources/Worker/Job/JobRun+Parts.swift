import HaulSystem
import HaulTransfer
import JobQueue
import Log
import Stores

/// What a run finds and leaves behind on the disk.
extension JobRun {
  /// The source's validators for the file that the job downloaded before; nil if that file has another length now or does not
  /// meet the job's requirements. Then Haul downloads the whole file again.
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
      // Nothing of it is of use to a later attempt unless a checkpoint means it.
      if !isKept { await removeParts([part.name], in: publisher.parts, of: publisher.store) }
      return failure(error, report: report)
    }
  }

  func lost(_ report: TransferReport) -> LeaseEnding {
    logger.warning(.leaseLost, (.path, LogValue(lease.path)))
    // It changes nothing but how much the attempt is known to have fetched.
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
    fill(&ending, report)
    return ending
  }

  func removeOwnParts(_ parts: PartDirectory, of store: Store) async {
    let own = PartName(job: lease.job, token: lease.token)
    // Not by the beginning of the name: 5.1 is how 5.10 begins, which may be the part of whoever has the job now.
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
      // What cannot be removed now is the janitor's.
      for name in names { try? parts.remove(name) }
    }
  }
}
