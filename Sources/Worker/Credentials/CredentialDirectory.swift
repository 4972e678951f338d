import Glibc
package import HaulTransfer

/// A directory of credentials for jobs. Each credential is a file, and the name of the file is the name of the credential.
package struct CredentialDirectory: Sendable {
  let path: String

  /// Checks a directory of credentials. Haul reads a file when a job names it, so you can add and renew credentials while the
  /// worker runs.
  ///
  /// - Throws: an error if the path is not a readable directory.
  package init(_ path: String) throws(SecretFile.Problem) {
    try self.init(path, right: R_OK | X_OK)
  }

  /// Checks the directory.
  ///
  /// - Parameter right: the right that access(2) must grant.
  init(_ path: String, right: Int32) throws(SecretFile.Problem) {
    var found = stat()
    if unsafe stat(path, &found) == 0, found.st_mode & S_IFMT != S_IFDIR {
      throw SecretFile.Problem("\(path) is not a directory of credentials")
    }
    if unsafe access(path, right) != 0 { throw SecretFile.unreadable(path, errno) }
    self.path = path
  }

  /// Returns the credential of that name. Blocks.
  ///
  /// - Throws: `credential` if this worker has no usable credential of that name. The message contains none of the credential's
  ///   content.
  static func credential(
    _ name: String, in directory: CredentialDirectory?
  ) throws(TransferError) -> Credential {
    guard CredentialName.isOne(name) else {
      throw TransferError(.credential, "'\(name.prefix(63))' is not a valid credential name")
    }
    guard let directory else {
      throw TransferError(
        .credential,
        "the job needs the credential \(name), but this worker was started without --credentials")
    }
    let path = "\(directory.path)/\(name)"
    // Other reasons why the file cannot be read are reported below.
    if unsafe access(path, F_OK) != 0, errno == ENOENT {
      throw TransferError(.credential, "this worker has no credential \(name)")
    }
    do throws(SecretFile.Problem) {
      return try Credential(
        try SecretFile.read(path),
        path: { $0.hasPrefix("/") ? $0 : "\(directory.path)/\($0)" },
        content: { file throws(SecretFile.Problem) in try SecretFile.read(file) })
    } catch {
      throw TransferError(.credential, "cannot use the credential \(name): \(error)")
    }
  }
}
