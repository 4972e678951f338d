import Synchronization

/// Which of several servers of a connection string answered last, for all connections of the process.
///
/// The next connection begins with that one, so that a dead server at the beginning of the list costs its time once. Only what
/// the string lists is remembered, never what a name resolved to: the name may lead elsewhere after a failover.
enum KnownAddresses {
  private static let known = Mutex<[String: [String: String]]>([:])

  /// The parameters that lead to that server alone; nil where none is known.
  static func parameters(for conninfo: String) -> [String: String]? {
    known.withLock { $0[conninfo] }
  }

  /// Remembers that `libpq` is connected, by the addresses of `conninfo`.
  static func note(_ libpq: borrowing Libpq, of conninfo: String) {
    guard let parameters = libpq.oneOfSeveral else { return }
    known.withLock { $0[conninfo] = parameters }
  }

  /// The server does not serve any more.
  static func forget(_ conninfo: String) {
    known.withLock { $0[conninfo] = nil }
  }
}
