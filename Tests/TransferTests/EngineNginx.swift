import Foundation
import TestSupport

/// nginx with TLS and HTTP/2 for the name `tls.test`, with a certificate of its own making.
final class TLSOrigin: Sendable {
  /// The certificate, to be trusted or not (PEM).
  let caFile: String
  let port: UInt16
  private let directory: URL
  private let process: Int32

  /// - Parameter files: names and contents.
  init(files: [String: Data]) async throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "haul-nginx-\(UUID())")
    let root = directory.appending(path: "root")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    for (name, content) in files { try content.write(to: root.appending(path: name)) }
    caFile = directory.appending(path: "cert.pem").path
    try Self.run(
      "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
      "-nodes", "-days", "2", "-subj", "/CN=tls.test", "-addext", "subjectAltName=DNS:tls.test",
      "-keyout", directory.appending(path: "key.pem").path, "-out", caFile)
    port = try Self.freePort()
    try Self.configuration(directory, port)
      .write(to: directory.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
    let nginx = Process()
    nginx.executableURL = URL(filePath: "/usr/sbin/nginx")
    nginx.arguments = ["-p", directory.path, "-c", "nginx.conf", "-e", "error.log"]
    try nginx.run()
    process = nginx.processIdentifier
    // nginx tells by its pid file that it listens.
    let ready = directory.appending(path: "nginx.pid").path
    try await eventually("nginx to listen") {
      FileManager.default.fileExists(atPath: ready)
    }
  }

  deinit {
    kill(process, SIGTERM)
    try? FileManager.default.removeItem(at: directory)
  }

  func url(_ path: String) -> String { "https://tls.test:\(port)\(path)" }

  /// Each request as `protocol connection requests-on-it path`, in the order of their ends.
  func requests() throws -> [String] {
    let log = directory.appending(path: "access.log")
    return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  private static func configuration(_ directory: URL, _ port: UInt16) -> String {
    """
    daemon off; worker_processes 1; pid nginx.pid; \(geteuid() == 0 ? "user root;" : "")
    events { worker_connections 512; }
    http {
      log_format short '$server_protocol $connection $connection_requests $uri';
      access_log access.log short;
      client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
      uwsgi_temp_path t4; scgi_temp_path t5;
      server {
        listen 127.0.0.1:\(port) ssl http2;
        ssl_certificate cert.pem; ssl_certificate_key key.pem;
        root root;
      }
    }
    """
  }

  private static func run(_ program: String, _ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw POSIXError(.EINVAL) }
  }

  private static func freePort() throws -> UInt16 {
    try ClosedPort().port
  }
}
