import FoundationEssentials
import Glibc
import HaulSystem

/// Makes a connection ready for queries, on the connection's own thread.
enum Handshake {
  /// Returns the connection, or throws why there is none. Ends early if `link` is closed.
  ///
  /// If there are several servers, the server that answered last is tried first, and each server has its own time-out. libpq
  /// alone would wait for a server that accepts connections but stays silent, until no time is left for the others.
  static func connect(
    _ configuration: ConnectionConfiguration, link: Link
  ) throws(PostgresError) -> Libpq {
    var parameters = configuration.defaults
    parameters.merge(try Conninfo.parse(configuration.conninfo)) { _, given in given }
    parameters["client_encoding"] = "UTF8"
    if configuration.writes { parameters["target_session_attrs"] = "read-write" }
    let list = try ServerList(parameters)
    let environment = ProcessInfo.processInfo.environment["PGCONNECT_TIMEOUT"]
    let timeout =
      ConnectionConfiguration.timeout(in: parameters, environment: environment)
      ?? configuration.connectTimeout
    if list.servers.count < 2 || list.isChosenFrom {
      return try finish(
        try start(parameters), within: timeout * max(list.servers.count, 1), link: link)
    }
    return try connect(parameters, list.servers, within: timeout, link: link)
  }

  private static func connect(
    _ parameters: [String: String], _ servers: [ServerAddress], within timeout: Duration,
    link: Link
  ) throws(PostgresError) -> Libpq {
    var failures: [PostgresError] = []
    for server in KnownAddresses.ordered(servers) {
      do throws(PostgresError) {
        let libpq = try finish(
          try start(parameters.merging(server.parameters) { $1 }), within: timeout, link: link)
        KnownAddresses.note(server, of: servers)
        return libpq
      } catch {
        guard error.leadsToNextServer, !link.isClosing else { throw error }
        failures.append(error)
      }
    }
    throw PostgresError(ofAll: failures)
  }

  private static func start(_ parameters: [String: String]) throws(PostgresError) -> Libpq {
    guard let libpq = Libpq(starting: parameters) else {
      throw .connecting(nil, "out of memory")
    }
    return libpq
  }

  private static func finish(
    _ libpq: consuming Libpq, within timeout: Duration, link: Link
  ) throws(PostgresError) -> Libpq {
    // libpq measures no time when it connects asynchronously.
    let deadline = ContinuousClock.now + timeout
    var waitsFor = libpq.isBad ? Libpq.Polling.failed : .writing
    while true {
      switch waitsFor {
      case .ready: return libpq
      case .failed: throw error(libpq)
      case .reading: try wait(libpq, events: POLLIN, until: deadline, link: link)
      case .writing: try wait(libpq, events: POLLOUT, until: deadline, link: link)
      }
      waitsFor = libpq.pollConnecting()
    }
  }

  private static func wait(
    _ libpq: borrowing Libpq, events: Int32, until deadline: ContinuousClock.Instant, link: Link
  ) throws(PostgresError) {
    while true {
      let socketEvents = link.wakeUp.wait(socket: libpq.socket, events: events, until: deadline)
      if link.isClosing { throw .connectionLost("this program closed the connection") }
      if socketEvents { return }
      if ContinuousClock.now >= deadline {
        throw .connecting(nil, "\(libpq.place) did not answer in time")
      }
    }
  }

  private static func error(_ libpq: borrowing Libpq) -> PostgresError {
    if libpq.needsPassword { return .noPassword }
    let message = libpq.errorMessage
    let sentence = withoutStates(PostgresError.oneLine(withReasons(message)))
    if PostgresError.isOfService(sentence) { return .configuration(sentence) }
    // libpq itself detects a read-only server, and reports no code (libpq: target_session_attrs).
    let readsOnly = sentence.contains(": session is read-only")
    return .connecting(readsOnly ? .readOnlyTransaction : sqlState(inVerbose: message), sentence)
  }

  /// Returns `message` with the system's reason why a file of keys or certificates cannot be read.
  ///
  /// Debian's libpq 15 shows uninitialised memory instead: it calls strerror_r(3) as if it were the POSIX function of that
  /// name. (fe-secure-openssl.c, SSLerrmessage)
  static func withReasons(_ message: String) -> String {
    for found in message.matches(
      of: #/could not (?:load private key|read (?:root )?certificate) file "([^"\n]+)": /#)
    {
      if let reason = whyUnreadable(String(found.1)) {
        return message[..<found.range.upperBound] + reason
      }
    }
    return message
  }

  /// Returns why the file at `path` cannot be read; nil if it can. (open(2), read(2))
  private static func whyUnreadable(_ path: String) -> String? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    defer { if file >= 0 { close(file) } }
    var byte: UInt8 = 0
    if file >= 0, unsafe read(file, &byte, 1) >= 0 || errno == EAGAIN { return nil }
    return SystemError.reason(errno)
  }

  /// Returns `message` without SQLSTATE codes, because errors carry the code separately.
  static func withoutStates(_ message: String) -> String {
    message.replacing(#/:  [0-9A-Z]{5}: /#, with: ": ")
  }

  /// Returns the SQLSTATE in the last "FATAL:  28P01: …" of a message of full verbosity, in any language. Returns
  /// nil if the message has none.
  static func sqlState(inVerbose message: String) -> SQLState? {
    let states = message.split(separator: "\n")
      .compactMap { line in line.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) }
      .map { SQLState(rawValue: String($0.1)) }
    // If TLS is only preferred, libpq tries again without TLS. The server may refuse that attempt whatever the password is.
    if states.last == .invalidAuthorization, states.contains(.invalidPassword) {
      return .invalidPassword
    }
    return states.last
  }
}

extension PostgresError {
  /// Whether another server of the same list may answer instead. (libpq: "Specifying Multiple Hosts")
  fileprivate var leadsToNextServer: Bool {
    guard case .connecting(let state, _) = self else { return false }
    return state == nil || state == .cannotConnectNow || state == .readOnlyTransaction
  }

  /// Creates one error from the errors of all servers of a list.
  fileprivate init(ofAll failures: [PostgresError]) {
    let states = failures.compactMap(\.sqlState)
    var sentences: [String] = []
    for case .connecting(_, let sentence) in failures where !sentences.contains(sentence) {
      sentences.append(sentence)
    }
    self = .connecting(
      states.contains(.readOnlyTransaction) ? .readOnlyTransaction : states.last,
      sentences.joined(separator: "; "))
  }

  /// The error if the server requires a password and none is given.
  package static let noPassword = PostgresError.configuration("the database demands a password")

  /// Returns whether a libpq error message is about a service definition, which libpq reads before it looks for a server
  /// (fe-connect.c, parseServiceInfo).
  package static func isOfService(_ sentence: String) -> Bool {
    ["definition of service ", "service file "].contains(where: sentence.hasPrefix)
  }

  /// Returns libpq's message as one line. The messages end in a newline, have several lines if there were several hosts, and
  /// name the server's source file at full verbosity.
  static func oneLine(_ message: String) -> String {
    message.split(separator: "\n")
      .filter { !$0.contains(/\.c:[0-9]+$/) }
      .map { String($0.drop { $0 == " " || $0 == "\t" }) }
      .joined(separator: "; ")
  }
}
