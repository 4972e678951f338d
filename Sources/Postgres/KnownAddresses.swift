import FoundationEssentials
import Glibc
import HaulSystem
import Synchronization

/// Remembers which of several servers in a connection string answered last, for this process and for later processes of its
/// user.
///
/// The next connection starts with this server, so that a dead server at the start of the list costs its time-out only once.
/// Only entries of the string are remembered, never resolved addresses: a name may have another address after a failover. Other
/// processes read the server from a file without secrets, which is valid for ten minutes.
enum KnownAddresses {
  /// How long a process trusts the file of another process. With an older file, Haul tries the servers in the order of the
  /// string, because a server that was down may be back.
  private static let memory = Duration.seconds(600)

  private static let known = Mutex<[String: ServerAddress]>([:])

  /// Returns `servers` in the order in which to try them.
  static func ordered(_ servers: [ServerAddress]) -> [ServerAddress] {
    let key = key(servers)
    let line = known.withLock { $0[key]?.line } ?? readFile(key)
    guard let first = servers.first(where: { $0.line == line }) else { return servers }
    return [first] + servers.filter { $0 != first }
  }

  /// Remembers that `server` has answered. `server` is one of `servers`.
  static func note(_ server: ServerAddress, of servers: [ServerAddress]) {
    let key = key(servers)
    let isNew = known.withLock { known in
      defer { known[key] = server }
      return known[key] != server
    }
    guard isNew, let file, server != servers.first || readFile(key) != nil,
      readFile(key) != server.line
    else { return }
    // The file only saves time. If it cannot be written, the next process tries the servers itself.
    unsafe mkdir(String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)]), 0o700)
    try? SmallFile.write("\(key)\n\(server.line)\n", to: file)
  }

  private static func key(_ servers: [ServerAddress]) -> String {
    servers.map(\.line).joined(separator: ", ")
  }

  /// Returns the server that a process of this user found recently; nil if there is none or the file is for other servers.
  private static func readFile(_ key: String) -> String? {
    guard let file, let age = age(of: file), age < memory, let text = SmallFile.read(file)
    else { return nil }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.count == 3 && lines[0] == key ? String(lines[1]) : nil
  }

  /// Returns the age of a file if it belongs to this user; otherwise nil.
  private static func age(of file: String) -> Duration? {
    var status = stat()
    guard unsafe lstat(file, &status) == 0, status.st_uid == geteuid() else { return nil }
    return .seconds(max(time(nil) - status.st_mtim.tv_sec, 0))
  }

  /// The path `haul/server` in the user's runtime or cache directory (XDG Base Directory Specification); nil if there is none.
  private static var file: String? {
    let environment = ProcessInfo.processInfo.environment
    let directory = { (name: String) in environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    let base =
      directory("XDG_RUNTIME_DIR") ?? directory("XDG_CACHE_HOME")
      ?? directory("HOME").map { $0 + "/.cache" }
    return base.map { $0 + "/haul/server" }
  }
}
