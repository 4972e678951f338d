import FoundationEssentials
import Glibc

/// What a running server writes about itself into its data directory.
///
/// (PostgreSQL source, `miscadmin.h`: one line each: process, data directory, time of start, port, socket
/// directory, address, shared memory, status.)
struct PostmasterFile: Sendable, Equatable {
  let pid: pid_t
  let startTime: String
  let port: String
  let socketDirectory: String
  let status: Status

  enum Status: Sendable, Equatable {
    /// Also while it recovers from a crash.
    case starting
    case ready
    case stopping
  }

  /// nil for what no server would write.
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

  /// Which start of a server this is, in a word; a process id alone comes again.
  var identity: String { "\(pid) \(startTime)" }
}

extension PostmasterFile {
  /// libpq's string for a database, in which `PGHOSTADDR` and the like change nothing. The server at the
  /// socket must run as `user`. (libpq: requirepeer)
  func conninfo(database: String, user: ServerUser) -> String {
    [
      ("host", socketDirectory), ("hostaddr", ""), ("port", port), ("user", ServerSettings.role),
      ("dbname", database), ("requirepeer", user.name),
    ].map { "\($0)=\(Self.quoted($1))" }.joined(separator: " ")
  }

  /// (libpq: "Connection Strings")
  private static func quoted(_ value: String) -> String {
    "'" + value.map { "'\\".contains($0) ? "\\\($0)" : String($0) }.joined() + "'"
  }
}
