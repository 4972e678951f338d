import CLibpq
import Glibc
import HaulSystem

/// A `PGconn`, which is closed when the value ends. Use it on one thread only. No method waits, except while resolving names.
@safe struct Libpq: ~Copyable {
  /// The event that a new connection waits for.
  enum Polling {
    case reading, writing, ready, failed
  }

  private let handle: OpaquePointer

  /// Begins to connect. This resolves names, which may take a while.
  ///
  /// Returns nil if there is not enough memory. (libpq: PQconnectStartParams)
  init?(starting parameters: [String: String]) {
    let keywords = Array(parameters.keys)
    let handle = unsafe CStrings.with(keywords) { keywords in
      unsafe CStrings.with(Array(parameters.values)) { values in
        unsafe PQconnectStartParams(keywords, values, 0)
      }
    }
    guard let handle = unsafe handle else { return nil }
    unsafe self.handle = unsafe handle
    // The default receiver prints to stderr.
    unsafe PQsetNoticeReceiver(handle, { _, _ in }, nil)
    // A refusal while connecting has no result with a code, so the code must be part of the message.
    unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
  }

  deinit {
    unsafe PQfinish(handle)
  }

  var isBad: Bool { unsafe PQstatus(handle) == CONNECTION_BAD }
  var needsPassword: Bool { unsafe PQconnectionNeedsPassword(handle) == 1 }
  var socket: Int32 { unsafe PQsocket(handle) }
  var backendPID: Int32 { unsafe PQbackendPID(handle) }
  var errorMessage: String { unsafe String(cString: PQerrorMessage(handle)) }
  /// Whether the next result, or the end of the results, has not fully arrived.
  var isBusy: Bool { unsafe PQisBusy(handle) == 1 }

  /// The server to connect to, for a message: `the socket /run/postgresql/.s.PGSQL.5432`, `db.example.org, port 5432`.
  /// (libpq: PQhost, PQhostaddr, PQport)
  var place: String {
    let port = unsafe PQport(handle).map { unsafe String(cString: $0) } ?? ""
    let host = unsafe PQhost(handle).map { unsafe String(cString: $0) } ?? ""
    return host.hasPrefix("/") ? "the socket \(host)/.s.PGSQL.\(port)" : "\(host), port \(port)"
  }

  /// The connected database and its server, for people: `haul at db.example.org:5432`, `haul at /run/postgresql`.
  /// (libpq: PQdb, PQhost, PQport)
  var database: String {
    let name = unsafe PQdb(handle).map { unsafe String(cString: $0) } ?? ""
    let port = unsafe PQport(handle).map { unsafe String(cString: $0) } ?? ""
    let host = unsafe PQhost(handle).map { unsafe String(cString: $0) } ?? ""
    let isUsual = host.hasPrefix("/") && port == "5432"
    return "\(name) at \(host)\(isUsual ? "" : ":\(port)")"
  }

  /// Whether the server was a standby when the connection was made. (libpq: PQparameterStatus, in_hot_standby)
  var isStandby: Bool {
    unsafe PQparameterStatus(handle, "in_hot_standby").map { unsafe String(cString: $0) } == "on"
  }

  /// All parameters of the connection, whatever their source. (libpq: PQconninfo)
  var options: [String: String] {
    guard let options = unsafe PQconninfo(handle) else { return [:] }
    defer { unsafe PQconninfoFree(options) }
    return unsafe Conninfo.values(options)
  }

  borrowing func pollConnecting() -> Polling {
    switch unsafe PQconnectPoll(handle) {
    case PGRES_POLLING_OK:
      // Set this only now: an earlier call would remove the name of the server from failure messages.
      unsafe PQsetnonblocking(handle, 1)
      return .ready
    case PGRES_POLLING_READING: return .reading
    case PGRES_POLLING_WRITING: return .writing
    default: return .failed
    }
  }

  /// Returns `errorMessage` as an error of the connection, not of a statement.
  func lost() -> PostgresError {
    .connectionLost(PostgresError.oneLine(errorMessage))
  }

  /// Reads the bytes that have arrived. (libpq: PQconsumeInput)
  func consumeInput() throws(PostgresError) {
    if unsafe PQconsumeInput(handle) == 0 { throw lost() }
  }

  /// Sends as much as the socket accepts. Returns whether everything was sent. (libpq: PQflush)
  func flush() throws(PostgresError) -> Bool {
    let status = unsafe PQflush(handle)
    if status < 0 { throw lost() }
    return status == 0
  }

  /// Queues one statement with parameters, in text form. (libpq: PQsendQueryParams)
  func send(query: String, parameters: [String?]) throws(PostgresError) {
    let accepted = unsafe CStrings.with(parameters) { values in
      unsafe PQsendQueryParams(
        handle, query, Int32(parameters.count), nil, values, nil, nil, 0)
    }
    if accepted == 0 { throw lost() }
  }

  /// Queues statements in the simple protocol. (libpq: PQsendQuery)
  func send(script: String) throws(PostgresError) {
    if unsafe PQsendQuery(handle, script) == 0 { throw lost() }
  }

  /// Queues a piece of COPY data. (libpq: PQputCopyData)
  func send(copyData bytes: [UInt8]) throws(PostgresError) {
    let status = unsafe bytes.withUnsafeBytes { buffer in
      unsafe PQputCopyData(
        handle, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
    }
    if status != 1 { throw lost() }
  }

  /// Ends the COPY data. If there is a `failure`, the COPY fails. (libpq: PQputCopyEnd)
  func sendCopyEnd(failure: String?) throws(PostgresError) {
    let status = unsafe failure.map { unsafe PQputCopyEnd(handle, $0) } ?? PQputCopyEnd(handle, nil)
    if status != 1 { throw lost() }
  }

  /// Returns the next result; nil if the statement has no more results. Call this only if not busy. (libpq: PQgetResult)
  func nextResult() -> LibpqResult? {
    guard let result = unsafe PQgetResult(handle) else { return nil }
    return unsafe LibpqResult(result)
  }

  func nextNotification() -> Notification? {
    guard let notify = unsafe PQnotifies(handle) else { return nil }
    defer { unsafe PQfreemem(notify) }
    return unsafe Notification(
      channel: String(cString: notify.pointee.relname),
      payload: String(cString: notify.pointee.extra),
      backendPID: notify.pointee.be_pid)
  }

  /// Returns the key for a cancel request; nil if there is not enough memory. (libpq: PQgetCancel)
  func cancelKey() -> LibpqCancelKey? {
    guard let key = unsafe PQgetCancel(handle) else { return nil }
    return unsafe LibpqCancelKey(key)
  }
}
