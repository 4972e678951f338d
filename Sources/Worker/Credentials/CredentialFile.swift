import Glibc
package import HaulTransfer

/// A credential whose file is named itself, as `haul get` has it: its directory is searched for that name alone.
package struct CredentialFile: Sendable {
  /// What jobs call it.
  package let name: String
  package let directory: CredentialDirectory
  private let credential: Credential

  /// Reads it, to know at once whether it can be used.
  ///
  /// - Throws: why not, without any of its content.
  package init(path: String) throws(SecretFile.Problem) {
    let components = path.split(separator: "/", omittingEmptySubsequences: false)
    name = components.last.map(String.init) ?? ""
    guard CredentialName.isOne(name) else {
      throw SecretFile.Problem(
        "the name of the credential's file \(path) may have letters, digits, '.', '_' and '-' alone, and begins with a letter or a digit"
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

  /// Whether it may be sent to the origin of `url`.
  package func isFor(_ url: WebURL) -> Bool { credential.maySend(to: url) }
}
