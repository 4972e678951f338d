/// A user with a password, a private key, or both, for HTTP Basic and Digest, FTP or SFTP.
public struct Login: Sendable, Hashable {
  /// The user's name.
  public var user: String
  /// The password; nil for none. Haul sends the password to FTP and SFTP servers only over TLS or SSH.
  public var password: String?
  /// The path of a private key in OpenSSH's format or PEM, without a passphrase; nil for none. Only SFTP uses it.
  public var keyPath: String?

  /// Creates a login with a password, a private key, or both.
  public init(user: String, password: String? = nil, keyPath: String? = nil) {
    self.user = user
    self.password = password
    self.keyPath = keyPath
  }
}
