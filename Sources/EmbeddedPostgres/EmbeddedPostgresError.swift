/// The reason why the embedded database is not available. The description is a sentence that tells the operator what to do,
/// without a full stop at the end.
package enum EmbeddedPostgresError: Error, Sendable, Equatable, CustomStringConvertible {
  /// `HAUL_STATE_DIR` and `HOME` are both unset, so the directory of the cluster is unknown.
  case noHome
  /// PostgreSQL 15 or newer is not installed.
  case programsMissing
  /// The data need a major version of PostgreSQL that is not installed. `installed` is the newest installed major version.
  case otherMajor(data: Int, installed: Int?, directory: String)
  /// The system user that must run the server does not exist: `postgres` if this process runs as root, otherwise the user of
  /// this process.
  case noServerUser(String)
  /// A file or directory belongs to another user, or another user can change it.
  case notOurs(String, owner: String)
  /// The system does not permit creating, reading or writing the file.
  case notPermitted(String, reason: String)
  /// The server of another machine or container is using the data.
  case runsElsewhere(String)
  /// The directory is on a network file system.
  case networkFileSystem(String, kind: String)
  /// The disk is full, or a quota is used up.
  case diskFull(String)
  /// This process or the machine has reached its limit of open files. The text is the path of the file that could not be
  /// opened.
  case openFiles(String)
  /// A system call failed for a reason that no other case describes.
  case inputOutput(String, reason: String)
  /// `initdb` failed. The text is its last error message.
  case notCreated(String)
  /// The server ended before it was ready. The text is its last error message since this start; `log` is the path of its log.
  case notStarted(String, log: String)
  /// The waiting task was cancelled.
  case cancelled

  package var description: String {
    switch self {
    case .noHome: "HOME is not set: set HAUL_STATE_DIR to a directory for the embedded database"
    case .programsMissing:
      "PostgreSQL 15 or newer is not installed: as root, run 'apt-get install postgresql', or name "
        + "another database with --database"
    case .otherMajor(let data, let installed, let directory):
      "the data in \(directory) needs PostgreSQL \(data), "
        + (installed.map { "but \($0) is installed" } ?? "which is not installed")
        + ": as root, run 'apt-get install postgresql-\(data)', or rename this directory "
        + "to start with an empty database (the directory contains this machine's queues and their "
        + "history, but no downloaded files)"
    case .noServerUser(ServerUser.rootsServer):
      "the user '\(ServerUser.rootsServer)', who runs the embedded database for root, does not exist: as root, run "
        + "'apt-get install postgresql'"
    case .noServerUser(let name):
      "PostgreSQL cannot run as the user \(name), who is not in the system's list of users: run haul as another user"
    case .notOurs(let path, let owner):
      "\(path) belongs to \(owner): run haul as that user, or set HAUL_STATE_DIR to another "
        + "directory"
    case .notPermitted(let path, let reason):
      "cannot use \(path): \(reason); correct the permissions, or set HAUL_STATE_DIR to another "
        + "directory"
    case .runsElsewhere(let path):
      "another container or machine runs the database in \(path): stop haul there, or set "
        + "HAUL_STATE_DIR to another directory"
    case .networkFileSystem(let path, let kind):
      "\(path) is on \(kind), where two machines could run the same database: set HAUL_STATE_DIR to "
        + "a directory on a local disk"
    case .diskFull(let path):
      "the disk has no space for the database in \(path): free some space, or set HAUL_STATE_DIR "
        + "to another directory"
    case .openFiles(let path):
      "cannot open \(path): too many files are open; raise the limit (ulimit -n)"
    case .inputOutput(let path, let reason): "cannot use \(path): \(reason)"
    case .notCreated(let words): "cannot create the embedded database: \(words)"
    case .notStarted(let words, let log):
      "the embedded database does not start: \(words) (full log: \(log))"
    case .cancelled: "Haul was stopped before the embedded database was ready"
    }
  }
}
