import HaulSystem
package import HaulTransfer

/// Compares finished files of one store with what was recorded when they were published.
package struct FileVerifier: Sendable {
  /// What has become of a file.
  package enum Verdict: Sendable, Equatable {
    /// The file has the recorded length, and the recorded digest if there is one.
    case right(hasDigest: Bool)
    /// No regular file has its name.
    case missing
    case length(Int64)
    /// The file has the right length.
    case digest(ExpectedDigest)
    /// The file cannot be looked at, as the sentence says. That tells nothing of what it holds.
    case unreadable(String)

    /// Whether the file is known not to be what was recorded.
    package var isDamaged: Bool {
      switch self {
      case .right, .unreadable: false
      case .missing, .length, .digest: true
      }
    }
  }

  private let destination: Destination
  private let io: IOPool

  /// For a user who may read the directory and perhaps not write it.
  ///
  /// - Throws: `StoreError` where the directory cannot be opened; `TransferError` where the system gives no thread.
  package init(_ mount: StoreMount) throws {
    try self.init(Destination(root: try Store.open(mount)))
  }

  /// - Throws: `TransferError` where the system gives no thread.
  package init(_ destination: Destination) throws(TransferError) {
    self.destination = destination
    io = try translating(try IOPool(threads: 1))
  }

  /// Looks at the file, and reads all of it where a digest was recorded.
  ///
  /// - Parameter onRead: called before each MiB with the number of bytes of the file that have been read.
  package func look(
    at path: RelativePath, length: Int64, digest: ExpectedDigest?,
    onRead: @escaping @Sendable (Int64) -> Void = { _ in }
  ) async -> Verdict {
    do throws(TransferError) {
      return try await verdict(on: path, length, digest, onRead)
    } catch {
      return .unreadable(error.message)
    }
  }

  private func verdict(
    on path: RelativePath, _ length: Int64, _ digest: ExpectedDigest?,
    _ onRead: @escaping @Sendable (Int64) -> Void
  ) async throws(TransferError) -> Verdict {
    try await io.run { () throws(TransferError) in
      guard let file = try destination.open(path) else { return .missing }
      let size = try file.size()
      guard size == length else { return .length(size) }
      guard let digest else { return .right(hasDigest: false) }
      var read: Int64 = 0
      let bytes = try file.digest(digest.algorithm, length: length) {
        onRead(read)
        read += 1 << 20
        return true
      }
      let found = ExpectedDigest(digest.algorithm, bytes: bytes)
      return found == digest ? .right(hasDigest: true) : .digest(found)
    }
  }

  /// Makes room for downloading the file again: renames the damaged file to `….damaged`.
  package func setAside(_ path: RelativePath) async throws(TransferError) {
    try await io.run { () throws(TransferError) in try destination.setAside(path) }
  }
}
