import Glibc
package import HaulTransfer

/// A credential that `haul get` reads from a file of the user's choice.
package struct CredentialFile: Sendable {
  /// The name of the file, which is also the name of the credential in jobs.
  package let name: String
  package let directory: CredentialDirectory
  private let credential: Credential

  /// Reads the file immediately, so that errors appear before the first download.
  ///
  /// - Throws: the reason why the credential cannot be used. The text contains none of the file's content.
  package init(path: String) throws(SecretFile.Problem) {
    let components = path.split(separator: "/", omittingEmptySubsequences: false)
    name = components.last.map(String.init) ?? ""
    guard CredentialName.isOne(name) else {
      throw SecretFile.Problem(
        "the file name of the credential \(path) may contain only letters, digits, '.', '_' and '-', and must begin with a letter or digit"
      )
    }
    let parent = components.dropLast().joined(separator: "/")
    directory = try CredentialDirectory(
      components.count == 1 ? "." : parent.isEmpty ? "/" : parent, right: X_OK)
    do throws(TransferError) {
      credential = try CredentialDirectory.credential(name, in: directory)
    } catch {
      throw SecretFile.Problem(error.message)
    }
  }

  /// Returns whether Haul may send the credential to the origin of `url`.
  package func isFor(_ url: WebURL) -> Bool { credential.maySend(to: url) }
}
