import FoundationEssentials
import Glibc

/// The file `postmaster.pid`, in which a running server describes itself in its data directory.
///
/// (PostgreSQL source, `miscadmin.h`. Each value is on its own line: process, data directory, start time, port, socket directory,
/// address, shared memory, status.)
struct PostmasterFile: Sendable, Equatable {
  let pid: pid_t
  let startTime: String
  let port: String
  let socketDirectory: String
  let status: Status

  enum Status: Sendable, Equatable {
    /// The server is starting, or recovering from a crash.
    case starting
    case ready
    case stopping
  }

  /// Parses the file; nil if no server would write this text.
  init?(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.count >= 5, let pid = pid_t(lines[0]), pid > 1 else { return nil }
    self.pid = pid
    startTime = lines[2]
    port = lines[3]
    socketDirectory = lines[4]
    status =
      switch lines.count > 7 ? lines[7].prefix(while: { $0 != " " }) : "" {
      case "ready": .ready
      case "stopping": .stopping
      default: .starting
      }
  }

  /// The process id and start time of the server, which identify this start. A process id alone may be reused.
  var identity: String { "\(pid) \(startTime)" }
}

extension PostmasterFile {
  /// Returns libpq's connection string for a database. `PGHOSTADDR` and similar variables do not change it. The server at the
  /// socket must run as `user`. (libpq: requirepeer)
  func conninfo(database: String, user: ServerUser) -> String {
    [
      ("host", socketDirectory), ("hostaddr", ""), ("port", port), ("user", ServerSettings.role),
      ("dbname", database), ("requirepeer", user.name),
    ].map { "\($0)=\(Self.quoted($1))" }.joined(separator: " ")
  }

  /// Returns a value as libpq reads it. (libpq: "Connection Strings")
  private static func quoted(_ value: String) -> String {
    "'" + value.map { "'\\".contains($0) ? "\\\($0)" : String($0) }.joined() + "'"
  }
}
