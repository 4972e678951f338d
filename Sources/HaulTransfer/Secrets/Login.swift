/// A user and password: for HTTP Basic and Digest, FTP and SFTP.
public struct Login: Sendable, Hashable {
  /// The user's name.
  public var user: String
  /// The password. To FTP and SFTP servers it is sent over TLS or SSH only.
  public var password: String?
  /// A private key in OpenSSH's format or PEM, without a passphrase; for SFTP alone.
  public var keyPath: String?

  /// A login made of its parts.
  public init(user: String, password: String? = nil, keyPath: String? = nil) {
    self.user = user
    self.password = password
    self.keyPath = keyPath
  }
}
