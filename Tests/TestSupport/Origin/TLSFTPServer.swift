import Foundation

/// vsftpd on a loopback port, that serves a directory to `anonymous` over TLS alone, files too (`PROT P`).
///
/// It ends with this object, and with the test process.
package final class TLSFTPServer: Sendable {
  package let port: UInt16
  /// The directory it serves; put files there before or while it runs.
  package let root: String
  private let directory: TemporaryDirectory
  private let program: OriginProgram

  /// Starts it; on return it accepts connections. `cert.pem` and `key.pem` are in `certificates`; `isImplicit` is TLS from
  /// the first byte, as `ftps` has it, else it begins with `AUTH TLS` (RFC 4217).
  package init(certificates: String, isImplicit: Bool) async throws {
    directory = try TemporaryDirectory()
    root = directory.path("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    port = try OriginProgram.freePort()
    let configuration = try directory.write(
      """
      listen=YES
      listen_address=127.0.0.1
      listen_port=\(port)
      background=NO
      run_as_launching_user=YES
      anonymous_enable=YES
      anon_root=\(root)
      ssl_enable=YES
      implicit_ssl=\(isImplicit ? "YES" : "NO")
      allow_anon_ssl=YES
      force_anon_logins_ssl=YES
      force_anon_data_ssl=YES
      rsa_cert_file=\(certificates)/cert.pem
      rsa_private_key_file=\(certificates)/key.pem
      vsftpd_log_file=\(directory.path("log"))
      """ + "\n", to: "vsftpd.conf")
    program = try await OriginProgram(
      "/usr/sbin/vsftpd", [configuration], port: port, errorLog: directory.path("log"))
  }

  /// A file that was last changed `age` ago.
  package func put(_ name: String, _ content: [UInt8], age: Duration = .seconds(3600)) throws {
    try FTPServer.put(content, at: "\(root)/\(name)", age: age)
  }
}
