/// What a client proves with in a TLS handshake who it is: two files in PEM.
package struct ClientCertificate: Sendable, Hashable {
  /// The certificate, and what leads from it to the authority.
  package var path: String
  /// Its private key, without a password.
  package var keyPath: String

  package init(path: String, keyPath: String) {
    self.path = path
    self.keyPath = keyPath
  }
}
