/// The certificate that proves the client's identity in a TLS handshake: two files in PEM.
package struct ClientCertificate: Sendable, Hashable {
  /// The file with the certificate, followed by the intermediate certificates.
  package var path: String
  /// The file with the certificate's private key, without a password.
  package var keyPath: String

  package init(path: String, keyPath: String) {
    self.path = path
    self.keyPath = keyPath
  }
}
