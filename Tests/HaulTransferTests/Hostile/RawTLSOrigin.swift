import Foundation
import TestSupport

/// `openssl s_server` for the name `tls.test`: answers with what is in a file, byte for byte, and closes.
final class RawTLSOrigin: Sendable {
  /// What it shows to prove its name.
  enum Proof: String, CaseIterable {
    /// Signed by the authority in ``RawTLSOrigin/caFile``.
    case right
    case expired
    /// For `other.test`.
    case otherName
    case selfSigned
    /// Signed by another authority than the one in ``RawTLSOrigin/caFile``.
    case unknownAuthority
  }

  /// The authority that is to be trusted (PEM).
  let caFile: String
  let port: UInt16
  private let directory: TemporaryDirectory
  private let server: ChildProcess

  /// - Parameters:
  ///   - options: further ones of s_server(1).
  ///   - answers: whole answers by name, `/name` in the URL; line ends are as given.
  init(_ proof: Proof, options: [String] = [], answers: [String: String]) async throws {
    directory = try TemporaryDirectory()
    for (name, answer) in answers { try directory.write(answer, to: name) }
    try await Self.makeCertificates(proof, in: directory.path)
    caFile = directory.path("ca.pem")
    port = try OriginProgram.freePort()
    server = try ChildProcess(
      "openssl",
      ["s_server", "-accept", "127.0.0.1:\(port)", "-cert", "cert.pem", "-key", "key.pem", "-HTTP"]
        + options, directory: directory.path)
    try await server.first("s_server to listen") {
      $0.standardOutput.contains("ACCEPT") ? () : nil
    }
  }

  func url(_ name: String) -> String { "https://tls.test:\(port)/\(name)" }

  private static func makeCertificates(_ proof: Proof, in directory: String) async throws {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    let name = proof == .otherName ? "other.test" : "tls.test"
    func openssl(_ arguments: [String]) async throws {
      let output = try await ChildProcess.run("openssl", arguments, directory: directory)
      guard output.exit == .code(0) else { throw POSIXError(.EINVAL) }
    }
    for authority in ["ca", "unknown"] {
      try await openssl(
        [
          "req", "-x509", "-days", "2", "-subj", "/CN=\(authority)", "-keyout",
          "\(authority)-key.pem",
        ]
          + ["-out", "\(authority).pem"] + key)
    }
    try await openssl(
      ["req", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)"]
        + ["-keyout", "key.pem", "-out", "request.pem"] + key)
    let signer = proof == .unknownAuthority ? "unknown" : "ca"
    try await openssl(
      ["x509", "-req", "-in", "request.pem", "-copy_extensions", "copy", "-out", "cert.pem"]
        + ["-days", proof == .expired ? "-1" : "2"]
        + (proof == .selfSigned
          ? ["-key", "key.pem"] : ["-CA", "\(signer).pem", "-CAkey", "\(signer)-key.pem"]))
  }
}
