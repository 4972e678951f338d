import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import Stores

/// The last steps of a job: sync the file, confirm the lease, rename the file, sync the directory.
struct Publisher: Sendable {
  let lease: Lease
  let environment: RunEnvironment
  let store: Store
  let parts: PartDirectory
  let path: RelativePath
  /// The rule for a file that already exists at `path`.
  let policy: CollisionPolicy
  /// The digest of the file; nil if it was not computed. It is recorded with the intent to publish, for a worker that has to
  /// finish the publication.
  let digest: ExpectedDigest?

  /// Gives the part file its final name. The name is durable on return. Returns nil if the lease is lost or another worker has
  /// taken the part over; that is not an error.
  ///
  /// With `isKept`, the database has a checkpoint of this part. In this case the intent is recorded first, so that the next
  /// worker recognises the file if this worker dies between the rename and its report.
  func publish(
    _ part: PartFile, length: Int64, isKept: Bool
  ) async throws(TransferError) -> Published? {
    // Nearly always, there is nothing to record, to wait for or to compare. In this case, the thread that syncs the file also
    // renames it.
    if !isKept, lease.attempt == 1 {
      let named = try await store.commit.publish(part, on: store.io) {
        () throws(TransferError) in
        Failpoint.hit(.afterSync, path: lease.path)
        guard environment.keeper.isSure(of: lease.token) == true else { return nil }
        return try giveName(to: part, length: length)
      }
      if let named { return named.published }
    } else {
      try await store.io.run { () throws(TransferError) in
        try part.sync()
        Failpoint.hit(.afterSync, path: lease.path)
      }
    }
    guard await hasRight(part, length: length, isKept: isKept) else { return nil }
    let named = try await store.io.run { () throws(TransferError) in
      try giveName(to: part, length: length)
    }
    try await store.commit.sync(named, on: store.io)
    return named.published
  }

  /// Renames the file. The caller must have confirmed the lease.
  private func giveName(to part: PartFile, length: Int64) throws(TransferError) -> GroupCommit.Named
  {
    guard store.isInPlace else { throw TransferError(.io, store.displacement) }
    Failpoint.hit(.beforeRename, path: lease.path)
    part.mark(as: owner)
    let parent = try store.destination.makeParent(of: path)
    return (try name(part, length: length, in: parent), parent)
  }

  private func name(
    _ part: PartFile, length: Int64, in parent: Destination.Parent
  ) throws(TransferError) -> Published? {
    // After a lost attempt, this job's file may already exist under the final name. It has the same bytes, or it is an older
    // version, because the source has changed since.
    var (place, policy) = (path, policy)
    if lease.attempt > 1 {
      if let present = try find({ file throws(TransferError) in
        try file.hasSameBytes(as: part, length: length)
      }) {
        try parts.remove(part.name)
        return .placed(present)
      }
      if let own = try find({ file throws(TransferError) in try file.isMarked(as: owner) }) {
        (place, policy) = (own, .replace)
      }
    }
    let placement = try store.destination.place(
      part: part.name, inode: part.inode, of: parts, at: place, in: parent, policy: policy)
    switch placement {
    case .placed(let placed):
      Failpoint.hit(.afterRename, path: lease.path)
      return .placed(placed)
    case .skipped:
      try parts.remove(part.name)
      // If the name belongs to something other than a file, the length counts as 0.
      if case .file(let length) = try store.destination.occupant(of: path) {
        return .skipped(bytes: length)
      }
      return .skipped(bytes: 0)
    case .partMissing:
      return nil
    }
  }

  /// Returns the name under which an earlier attempt may have published the file, if `isWanted` accepts the file
  /// there; otherwise nil.
  private func find(
    _ isWanted: (PartFile) throws(TransferError) -> Bool
  ) throws(TransferError) -> RelativePath? {
    try store.destination.find(path, policy: policy, where: isWanted)
  }

  /// The pool and the job, as the owner mark of a file.
  private var owner: String { "\(environment.pool)/\(lease.job)" }

  /// Returns whether the worker still has the right to rename the file. With `isKept`, also records the intent to publish.
  private func hasRight(_ part: PartFile, length: Int64, isKept: Bool) async -> Bool {
    guard isKept else { return await environment.keeper.confirm(lease.token) }
    let checkpoint = Checkpoint(
      completeLength: length, validator: nil, digest: digest, durable: ByteRanges(0..<length),
      part: part.name, inode: part.inode, publishing: path.description)
    guard let row = CheckpointRow(lease, checkpoint, intent: path.description) else { return false }
    return await environment.checkpoints.save(row)
  }
}

extension Lease {
  /// The path of the job's file. If the job downloaded a file before, the new file replaces that file, wherever it is.
  var destination: String { earlier?.path ?? path }

  /// The rule for a file that already exists under the final name. A file that the job downloaded before belongs to the job.
  var policy: CollisionPolicy {
    if earlier != nil { return .replace }
    return CollisionPolicy(rawValue: options.ifExists ?? "") ?? .fail
  }

  /// Whether the file gets the name that the server sends.
  var isNamedByServer: Bool { options.contentDisposition == true && earlier == nil }

  /// The rule for a file that already exists under a name that the server chose. The file may belong to anyone.
  var policyForServerName: CollisionPolicy { policy == .replace ? .rename : policy }

  /// Returns the path of the job's file, and the rule for a file that already exists there.
  func place(suggestedName: String?, instead path: RelativePath) -> (RelativePath, CollisionPolicy)
  {
    // Even the name from the URL may be taken: another job's server may have sent that name.
    isNamedByServer
      ? (suggestedName.flatMap(path.renamed) ?? path, policyForServerName) : (path, policy)
  }
}

extension EarlierFile {
  /// Returns whether the file meets the job's requirements, as far as that is known without reading the file.
  func satisfies(_ options: JobOptions) -> Bool {
    let known = digest.flatMap { ExpectedDigest(spelled: $0) }
    if let wanted = options.digest, known == nil || ExpectedDigest(spelled: wanted) != known {
      return false
    }
    if options.recordDigest == true, known == nil { return false }
    return options.length == nil || options.length == bytes
  }
}
