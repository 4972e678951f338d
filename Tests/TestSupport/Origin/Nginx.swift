import Foundation
import Glibc

/// A private nginx on a loopback port, serving a directory, as whoever runs the tests.
///
/// The second origin, and a real one: what ``OriginServer`` says is our own reading of the RFCs.
package final class Nginx: Sendable {
  package let port: UInt16
  /// The directory it serves; put files there before or while it runs.
  package let root: String
  private let directory: TemporaryDirectory
  private let program: OriginProgram

  /// Starts it; on return it accepts connections.
  ///
  /// `location` is placed into `location / { … }`, such as `limit_rate 1m;` (bytes a second and
  /// connection), `max_ranges 0;` or `return 503;`.
  ///
  /// - Throws: ``TimedOut`` with its errors when it does not start; `POSIXError`.
  package init(location: String = "") async throws {
    directory = try TemporaryDirectory()
    root = directory.path("root")
    try FileManager.default.createDirectory(
      atPath: root, withIntermediateDirectories: true)
    port = try OriginProgram.freePort()
    try Self.configuration(port: port, directory: directory.path, location: location)
      .write(toFile: directory.path("nginx.conf"), atomically: true, encoding: .utf8)
    program = try await OriginProgram(
      "/usr/sbin/nginx", Self.arguments(directory.path), port: port,
      errorLog: directory.path("error.log"))
  }

  package var host: String { "127.0.0.1:\(port)" }

  package func url(_ path: String) -> String { "http://\(host)\(path)" }

  /// Answers all further requests by another `location`; those under way go on as they began.
  ///
  /// On return the new configuration is in force. One reload at a time.
  ///
  /// - Throws: ``TimedOut``, also when nginx refuses the configuration.
  package func reload(location: String) async throws {
    let before = try retirements()
    try Self.configuration(port: port, directory: directory.path, location: location)
      .write(toFile: directory.path("nginx.conf"), atomically: true, encoding: .utf8)
    program.signal(SIGHUP)
    // Old and new workers listen together for a moment; the old one says when it has ended that.
    try await eventually("nginx to take its new configuration") {
      try self.retirements() > before
    }
  }

  /// Ends it at once, breaking what is under way; its log stays readable.
  package func stop() async throws {
    try await program.end()
  }

  /// What it has logged so far. A request is logged when it is over, and only then.
  package func accessLog() throws -> NginxAccessLog {
    NginxAccessLog(
      try String(contentsOfFile: directory.path("access.log"), encoding: .utf8))
  }

  /// Waits until at least that many requests are over.
  package func accessLog(
    requests: Int, within limit: Duration = .seconds(30)
  ) async throws -> NginxAccessLog {
    try await eventually("\(requests) requests in nginx's log", within: limit) {
      try self.accessLog().requests.count >= requests
    }
    return try accessLog()
  }

  /// How many workers have stopped to listen, one each reload.
  private func retirements() throws -> Int {
    try String(contentsOfFile: directory.path("error.log"), encoding: .utf8)
      .split(separator: "\n").count { $0.hasSuffix("gracefully shutting down") }
  }

  private static func arguments(_ directory: String) -> [String] {
    ["-p", directory, "-c", "\(directory)/nginx.conf", "-e", "\(directory)/error.log"]
  }

  /// `user` counts only where nginx is started by root, and keeps its workers able to read the files.
  private static func configuration(
    port: UInt16, directory: String, location: String
  ) -> String {
    """
    daemon off;
    \(getuid() == 0 ? "user root;" : "")
    worker_processes 1;
    pid \(directory)/nginx.pid;
    error_log \(directory)/error.log notice;
    events { worker_connections 4096; }
    http {
      \(["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map { "\($0)_temp_path \(directory)/\($0);" }.joined(separator: "\n  "))
      log_format haul '\(NginxAccessLog.format)';
      access_log \(directory)/access.log haul;
      sendfile on;
      tcp_nodelay on;
      keepalive_requests 1000000;
      server {
        listen 127.0.0.1:\(port) backlog=4096;
        root \(directory)/root;
        location / { \(location) }
      }
    }
    """
  }
}
