import Foundation

/// nginx with TLS and HTTP/2 for the name `tls.test` and the address 127.0.0.2, with a certificate of its own making.
///
/// What is below `/known/` is for clients that show that certificate.
package final class TLSOrigin: Sendable {
  /// The certificate, to be trusted or not (PEM).
  package let caFile: String
  /// The certificate's key; both are good for a client, too.
  package let keyFile: String
  package let port: UInt16
  private let directory: TemporaryDirectory
  private let nginx: ChildProcess

  /// - Parameter files: names and contents.
  package init(files: [String: [UInt8]]) async throws {
    directory = try TemporaryDirectory()
    for (name, content) in files {
      try Data(content).write(to: URL(fileURLWithPath: directory.path(name)))
    }
    caFile = directory.path("cert.pem")
    keyFile = directory.path("key.pem")
    try await makeCertificate(in: directory)
    port = try OriginProgram.freePort()
    try directory.write(Self.configuration(port), to: "nginx.conf")
    nginx = try ChildProcess(
      "/usr/sbin/nginx", ["-p", directory.path, "-c", "nginx.conf", "-e", "error.log"])
    // Written when nginx listens.
    let ready = directory.path("nginx.pid")
    try await eventually("nginx to listen") { FileManager.default.fileExists(atPath: ready) }
  }

  package func url(_ path: String, host: String = "tls.test") -> String {
    "https://\(host):\(port)\(path)"
  }

  /// Protocol and connection number of each request, in the order of their ends.
  package func requests() throws -> [[String]] {
    try String(contentsOfFile: directory.path("access.log"), encoding: .utf8)
      .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
  }

  private static func configuration(_ port: UInt16) -> String {
    """
    daemon off; worker_processes 1; pid nginx.pid; \(geteuid() == 0 ? "user root;" : "")
    events { worker_connections 512; }
    http {
      log_format short '$server_protocol $connection';
      access_log access.log short;
      client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
      uwsgi_temp_path t4; scgi_temp_path t5;
      server {
        listen 127.0.0.1:\(port) ssl http2;
        listen 127.0.0.2:\(port) ssl http2;
        ssl_certificate cert.pem; ssl_certificate_key key.pem;
        ssl_client_certificate cert.pem; ssl_verify_client optional;
        add_header X-Client $ssl_client_verify;
        root .;
        location /known/ {
          if ($ssl_client_verify != SUCCESS) { return 403; }
          rewrite ^/known(/.*) $1 break;
        }
      }
    }
    """
  }
}

/// A certificate for `tls.test` and 127.0.0.2, its own authority, as `cert.pem` and `key.pem`.
package func makeCertificate(in directory: TemporaryDirectory) async throws {
  let made = try await ChildProcess.run(
    "openssl",
    [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-days", "2", "-subj", "/CN=tls.test", "-addext", "subjectAltName=DNS:tls.test,IP:127.0.0.2",
      "-keyout", directory.path("key.pem"), "-out", directory.path("cert.pem"),
    ])
  guard made.exit == .code(0) else { throw POSIXError(.EINVAL) }
}
