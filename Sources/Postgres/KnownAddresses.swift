import FoundationEssentials
import Glibc
import HaulSystem
import Synchronization

/// Which of several servers of a connection string answered last, for this process and the next ones of its user.
///
/// The next connection begins with that one, so that a dead server at the beginning of the list costs its time once. Only what
/// the string lists is remembered, never what a name resolved to: the name may lead elsewhere after a failover. Other processes
/// learn it from a file without any secret, which counts for ten minutes.
enum KnownAddresses {
  /// How long a process trusts what another has found, so that a server that is back gets its turn.
  private static let memory = Duration.seconds(600)

  private static let known = Mutex<[String: ServerAddress]>([:])

  /// `servers` in the order in which they are to be tried.
  static func ordered(_ servers: [ServerAddress]) -> [ServerAddress] {
    let key = key(servers)
    let line = known.withLock { $0[key]?.line } ?? readFile(key)
    guard let first = servers.first(where: { $0.line == line }) else { return servers }
    return [first] + servers.filter { $0 != first }
  }

  /// Remembers that `server`, one of `servers`, has answered.
  static func note(_ server: ServerAddress, of servers: [ServerAddress]) {
    let key = key(servers)
    let isNew = known.withLock { known in
      defer { known[key] = server }
      return known[key] != server
    }
    guard isNew, let file, server != servers.first || readFile(key) != nil,
      readFile(key) != server.line
    else { return }
    // It only saves time: where it cannot be written, the next process finds out by itself.
    unsafe mkdir(String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)]), 0o700)
    try? SmallFile.write("\(key)\n\(server.line)\n", to: file)
  }

  private static func key(_ servers: [ServerAddress]) -> String {
    servers.map(\.line).joined(separator: ", ")
  }

  /// The server that a process of this user has found lately; nil where none has, or for other servers.
  private static func readFile(_ key: String) -> String? {
    guard let file, let age = age(of: file), age < memory, let text = SmallFile.read(file)
    else { return nil }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.count == 3 && lines[0] == key ? String(lines[1]) : nil
  }

  /// The time since a file of this user was written.
  private static func age(of file: String) -> Duration? {
    var status = stat()
    guard unsafe lstat(file, &status) == 0, status.st_uid == geteuid() else { return nil }
    return .seconds(max(time(nil) - status.st_mtim.tv_sec, 0))
  }

  /// `haul/server` in the user's directory for such things (XDG Base Directory Specification); nil where there is none.
  private static var file: String? {
    let environment = ProcessInfo.processInfo.environment
    let directory = { (name: String) in environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    let base =
      directory("XDG_RUNTIME_DIR") ?? directory("XDG_CACHE_HOME")
      ?? directory("HOME").map { $0 + "/.cache" }
    return base.map { $0 + "/haul/server" }
  }
}
