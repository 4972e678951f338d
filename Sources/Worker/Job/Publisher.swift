import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import Stores

/// The last steps of a job: sync, be sure of the lease, rename, sync the directory.
struct Publisher: Sendable {
  let lease: Lease
  let environment: RunEnvironment
  let store: Store
  let parts: PartDirectory
  let path: RelativePath
  /// What to do when a file stands there.
  let policy: CollisionPolicy
  /// The file's digest, if it was computed. Recorded with the intent, for a worker that has to finish this.
  let digest: ExpectedDigest?

  /// Gives the part file its final name. Durable on return. nil: the lease is lost, or another worker has taken the part over; that
  /// is not an error.
  ///
  /// `isKept`: the database has a checkpoint of this part; then the intent is recorded first, so that the next worker recognises the
  /// file if this one dies between the rename and the settlement.
  func publish(
    _ part: PartFile, length: Int64, isKept: Bool
  ) async throws(TransferError) -> Published? {
    // Where there is nothing to record, to wait for or to compare, which is nearly always, the thread that syncs goes on.
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

  /// Renames the file. The caller must have the right to do so.
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
    // After a lost attempt the file may stand there already: then it is ours, if it is the same.
    // Or it is an older version, and the source has changed since.
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
      // What is no file has no length.
      if case .file(let length) = try store.destination.occupant(of: path) {
        return .skipped(bytes: length)
      }
      return .skipped(bytes: 0)
    case .partMissing:
      return nil
    }
  }

  /// The name under which an earlier attempt may have published the file, if the one there is the one looked for.
  private func find(
    _ isWanted: (PartFile) throws(TransferError) -> Bool
  ) throws(TransferError) -> RelativePath? {
    try store.destination.find(path, policy: policy, where: isWanted)
  }

  /// The job, and the pool that it is of.
  private var owner: String { "\(environment.pool)/\(lease.job)" }

  /// Whether the lease is certainly ours for long enough to rename.
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
  /// Path of its file. A file that the job downloaded before is replaced, wherever it is.
  var destination: String { earlier?.path ?? path }

  /// What to do when a file stands under the final name. A file that the job downloaded before is its own.
  var policy: CollisionPolicy {
    if earlier != nil { return .replace }
    return CollisionPolicy(rawValue: options.ifExists ?? "") ?? .fail
  }

  /// Whether its file gets the name that the server sends.
  var isNamedByServer: Bool { options.contentDisposition == true && earlier == nil }

  /// What to do when a file stands under a name that the server chose. The file may belong to anybody.
  var policyForServerName: CollisionPolicy { policy == .replace ? .rename : policy }

  /// Where its file goes, and what to do when a file stands there.
  func place(suggestedName: String?, instead path: RelativePath) -> (RelativePath, CollisionPolicy)
  {
    // Another job of the list may have got the name of this URL from its server.
    isNamedByServer
      ? (suggestedName.flatMap(path.renamed) ?? path, policyForServerName) : (path, policy)
  }
}

extension EarlierFile {
  /// Whether the file has what the job demands, without a look into it.
  func satisfies(_ options: JobOptions) -> Bool {
    let known = digest.flatMap { ExpectedDigest(spelled: $0) }
    if let wanted = options.digest, known == nil || ExpectedDigest(spelled: wanted) != known {
      return false
    }
    if options.recordDigest == true, known == nil { return false }
    return options.length == nil || options.length == bytes
  }
}
