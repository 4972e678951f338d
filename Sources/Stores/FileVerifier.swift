import HaulSystem
package import HaulTransfer

/// Checks finished files of one store against the length and digest that Haul recorded when it published them.
package struct FileVerifier: Sendable {
  /// The result of checking one file.
  package enum Verdict: Sendable, Equatable {
    /// The file has the recorded length and digest. `hasDigest` is false if no digest was recorded.
    case right(hasDigest: Bool)
    /// No regular file has this name.
    case missing
    /// The file has this length in bytes instead of the recorded length.
    case length(Int64)
    /// The file has the recorded length, but this digest instead of the recorded one.
    case digest(ExpectedDigest)
    /// The file cannot be read, for the given reason. The content of the file is unknown.
    case unreadable(String)

    /// Whether the file is missing or certainly differs from the record.
    package var isDamaged: Bool {
      switch self {
      case .right, .unreadable: false
      case .missing, .length, .digest: true
      }
    }
  }

  private let destination: Destination
  private let io: IOPool

  /// Opens the directory of a store. This process must have the right to read the directory, but need not have the right to
  /// write.
  ///
  /// - Throws: `StoreError` if the directory cannot be opened; `TransferError` if the system cannot create a thread.
  package init(_ mount: StoreMount) throws {
    try self.init(Destination(root: try Store.open(mount)))
  }

  /// Creates a verifier for an open directory.
  ///
  /// - Throws: `TransferError` if the system cannot create a thread.
  package init(_ destination: Destination) throws(TransferError) {
    self.destination = destination
    io = try translating(try IOPool(threads: 1))
  }

  /// Checks a file's length, and reads the whole file if a digest was recorded. If `length` is nil, any length is accepted.
  ///
  /// - Parameter onRead: called before each MiB with the number of bytes of the file that have been read.
  package func look(
    at path: RelativePath, length: Int64?, digest: ExpectedDigest?,
    onRead: @escaping @Sendable (Int64) -> Void = { _ in }
  ) async -> Verdict {
    do throws(TransferError) {
      return try await verdict(on: path, length, digest, onRead)
    } catch {
      return .unreadable(error.message)
    }
  }

  private func verdict(
    on path: RelativePath, _ length: Int64?, _ digest: ExpectedDigest?,
    _ onRead: @escaping @Sendable (Int64) -> Void
  ) async throws(TransferError) -> Verdict {
    try await io.run { () throws(TransferError) in
      guard let file = try destination.open(path) else { return .missing }
      let size = try file.size()
      guard size == length ?? size else { return .length(size) }
      guard let digest else { return .right(hasDigest: false) }
      var read: Int64 = 0
      let bytes = try file.digest(digest.algorithm, length: size) {
        onRead(read)
        read += 1 << 20
        return true
      }
      let found = ExpectedDigest(digest.algorithm, bytes: bytes)
      return found == digest ? .right(hasDigest: true) : .digest(found)
    }
  }

  /// Returns the reason why Haul cannot open `path` as a regular file, as a clause. Returns nil if the path does not exist or is
  /// a regular file.
  package func obstacle(at path: RelativePath) async -> String? {
    do throws(TransferError) {
      let occupant = try await io.run { () throws(TransferError) in
        try destination.occupant(of: path)
      }
      switch occupant {
      case nil, .file: return nil
      case .directory: return "it is a directory"
      case .other: return "it is a symbolic link or another special file, which Haul does not open"
      }
    } catch {
      return error.message
    }
  }

  /// Renames the damaged file to `….damaged`, so that the file can be downloaded again.
  package func setAside(_ path: RelativePath) async throws(TransferError) {
    try await io.run { () throws(TransferError) in try destination.setAside(path) }
  }
}
