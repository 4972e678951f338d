/// The user and password for a protocol with its own login.
package struct Login: Sendable, Hashable {
  package var user: String
  /// Sent over TLS or SSH only.
  package var password: String?
  /// A private key in OpenSSH's format or PEM, without a passphrase; for SFTP alone.
  package var keyPath: String?

  package init(user: String, password: String? = nil, keyPath: String? = nil) {
    self.user = user
    self.password = password
    self.keyPath = keyPath
  }
}
