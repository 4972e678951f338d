import Glibc
import HaulSystem

/// The configuration of the server. It is rewritten at each start, so that a newer program's settings take effect.
struct ServerSettings {
  /// The port, which is part of the socket's name. The server does not listen on a network.
  static let port = 5432
  /// The database role of all users that may connect. It is a superuser.
  static let role = "haul"

  let directory: ClusterDirectory
  let socketDirectory: String

  private var main: String { "\(directory.path)/postgresql.conf" }
  private var hosts: String { "\(directory.path)/pg_hba.conf" }
  private var users: String { "\(directory.path)/pg_ident.conf" }

  /// The arguments of `postgres`.
  var arguments: [String] { ["-D", directory.data, "-c", "config_file=\(main)"] }

  func write() throws(EmbeddedPostgresError) {
    try translating(try SmallFile.write(mainText, to: main))
    try translating(try SmallFile.write("local all all peer map=haul\n", to: hosts))
    try translating(try SmallFile.write(usersText, to: users))
  }

  /// The text of postgresql.conf. Commits are durable. Memory and logs are small. WAL only serves recovery from crashes of this
  /// machine. (A server with 64 MB of buffers starts as fast as one with 16 MB.)
  var mainText: String {
    """
    # haul writes this file at each start of the server. Do not edit it: your changes would be lost.
    include = \(Self.quoted("\(directory.data)/postgresql.conf"))
    hba_file = \(Self.quoted(hosts))
    ident_file = \(Self.quoted(users))
    listen_addresses = ''
    port = \(Self.port)
    unix_socket_directories = \(Self.quoted(Self.listed(socketDirectory)))
    unix_socket_permissions = 0700
    max_connections = 100
    shared_buffers = 64MB
    huge_pages = off
    jit = off
    fsync = on
    full_page_writes = on
    synchronous_commit = on
    wal_level = minimal
    max_wal_senders = 0
    max_logical_replication_workers = 0
    max_wal_size = 512MB
    logging_collector = off
    log_destination = stderr
    log_line_prefix = '%m [%p] '
    log_checkpoints = off
    lc_messages = C

    """
  }

  /// The text of pg_ident.conf: the system users that may connect as the role.
  var usersText: String {
    directory.user.callers.map { caller in
      "haul \"\(caller.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\" \(Self.role)\n"
    }.joined()
  }

  /// Returns `text` as a value in postgresql.conf (PostgreSQL manual, "Parameter Names and Values").
  static func quoted(_ text: String) -> String {
    "'" + text.map { $0 == "'" ? "''" : $0 == "\\" ? "\\\\" : String($0) }.joined() + "'"
  }

  /// Returns a directory as an element of a list, quoted because a comma or a space would split it.
  static func listed(_ directory: String) -> String {
    "\"\(directory.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
  }
}
