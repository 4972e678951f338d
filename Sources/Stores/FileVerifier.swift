import HaulSystem
package import HaulTransfer

/// Compares finished files of one store with the length and digest recorded when they were published.
package struct FileVerifier: Sendable {
  /// The result for one file.
  package enum Verdict: Sendable, Equatable {
    /// The file has the recorded length, and the recorded digest if there is one.
    case right(hasDigest: Bool)
    /// There is no regular file of this name.
    case missing
    /// The file has this other length.
    case length(Int64)
    /// The file has the right length and this other digest.
    case digest(ExpectedDigest)
    /// The file cannot be read, for the reason given. Its content is unknown.
    case unreadable(String)

    /// Whether the file certainly differs from the record.
    package var isDamaged: Bool {
      switch self {
      case .right, .unreadable: false
      case .missing, .length, .digest: true
      }
    }
  }

  private let destination: Destination
  private let io: IOPool

  /// Opens the directory. The user must be able to read it, but need not be able to write it.
  ///
  /// - Throws: `StoreError` if the directory cannot be opened; `TransferError` if the system gives no thread.
  package init(_ mount: StoreMount) throws {
    try self.init(Destination(root: try Store.open(mount)))
  }

  /// Creates a verifier for an open directory.
  ///
  /// - Throws: `TransferError` if the system gives no thread.
  package init(_ destination: Destination) throws(TransferError) {
    self.destination = destination
    io = try translating(try IOPool(threads: 1))
  }

  /// Checks a file's length, and reads the whole file if a digest was recorded.
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

  /// Renames the damaged file to `….damaged`, so that the file can be downloaded again.
  package func setAside(_ path: RelativePath) async throws(TransferError) {
    try await io.run { () throws(TransferError) in try destination.setAside(path) }
  }
}
