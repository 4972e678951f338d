import HaulSystem
import HaulTransfer
import JobQueue
import Stores

/// Takes a job over on the disk: finds the checkpoint's part file, and makes sure that no other worker can publish the file.
///
/// Part files are found by the job id in their names. So it does no harm if a worker renames a part file and crashes before the
/// database has recorded the new name. The part file with the checkpoint's inode gets this lease's name, and the other part
/// files of the job are removed. An earlier worker that still runs then finds no part file to rename.
struct TakeOver: Sendable {
  /// The result of the search for a file to continue.
  enum Found: Sendable {
    /// No usable part file exists. Start from byte 0.
    case nothing
    case part(Checkpoint, PartFile)
    /// An earlier worker published the file, and died before it could report that. `digest` is the file's digest from that
    /// worker.
    case published(RelativePath, bytes: Int64, digest: ExpectedDigest?)
  }

  let lease: Lease
  let parts: PartDirectory
  let store: Store

  func look() async throws(TransferError) -> Found {
    // No other worker has had this job before.
    guard lease.attempt > 1 || lease.resume != nil else { return .nothing }
    let found = try await store.io.run { () throws(TransferError) in try self.lookOnce() }
    if case .nothing = found, checkpoint != nil {
      // On NFS, a rename by another machine may become visible late: look again after a moment.
      try? await Task.sleep(for: .milliseconds(300))
      return try await store.io.run { () throws(TransferError) in try self.lookOnce() }
    }
    return found
  }

  /// The lease's checkpoint; nil if there is none, or if its part file is in another store instance.
  private var checkpoint: Checkpoint? {
    guard let text = lease.resume, lease.resumeInstance == lease.instance else { return nil }
    return try? Checkpoint(resumeData: Array(text.utf8))
  }

  private func lookOnce() throws(TransferError) -> Found {
    let own = PartName(job: lease.job, token: lease.token).text
    var found: Found = .nothing
    for name in try parts.names(startingWith: "\(lease.job).") {
      if let checkpoint, case .nothing = found,
        try open(name, meant: checkpoint) != nil
      {
        if name != own, try !parts.rename(name, to: own) { continue }
        if let part = try open(own, meant: checkpoint) { found = .part(checkpoint, part) }
      } else {
        try parts.remove(name)
      }
    }
    if case .nothing = found, let checkpoint, let intent = lease.intent,
      let place = try? RelativePath(intent),
      let published = try store.destination.find(
        place, policy: lease.isNamedByServer ? lease.policyForServerName : lease.policy,
        where: { file throws(TransferError) in
          let size = try file.size()
          return file.inode == checkpoint.inode && size == checkpoint.completeLength
        })
    {
      try store.destination.makeParent(of: published).sync()
      return .published(
        published, bytes: checkpoint.completeLength, digest: checkpoint.digest)
    }
    return found
  }

  private func open(_ name: String, meant: Checkpoint) throws(TransferError) -> PartFile? {
    try parts.open(
      name, inode: meant.inode, holding: meant.durable.end, of: meant.completeLength)
  }
}
