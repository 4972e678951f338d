/// A client certificate for TLS handshakes, which proves the client's identity: two files in PEM format.
package struct ClientCertificate: Sendable, Hashable {
  /// The file with the certificate, followed by the intermediate certificates.
  package var path: String
  /// The file with the certificate's private key. The key must not have a password.
  package var keyPath: String

  package init(path: String, keyPath: String) {
    self.path = path
    self.keyPath = keyPath
  }
}
