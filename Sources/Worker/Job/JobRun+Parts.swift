import HaulSystem
import HaulTransfer
import JobQueue
import Log
import Stores

/// What a run leaves behind on the disk.
extension JobRun {
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
