import CLibmicrohttpd
import Glibc
import HaulSystem
import Synchronization

/// An HTTP server that uses libmicrohttpd with one thread. It receives requests, starts a task to answer each, and sends the
/// responses.
///
/// A connection is suspended until its response is ready, so a slow response does not delay others. Every suspended connection
/// is resumed once. The daemon is stopped only when no connection is suspended (libmicrohttpd: MHD_stop_daemon).
@safe final class HTTPServer: Sendable {
  typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

  /// The time between two checks for connections whose time is up.
  private static let sweep = Duration.seconds(1)

  private let desk: RequestDispatcher
  private let daemon: Daemon
  private let sweeper: Task<Void, Never>

  /// Answers requests on `socket` until ``stop()``. The server takes over the socket.
  init(
    _ socket: ListenSocket, limits: OpenConnections.Limits = OpenConnections.Limits(),
    handler: @escaping Handler
  ) throws(ListenError) {
    let connections = OpenConnections(limits)
    desk = RequestDispatcher(handler, connections)
    // The daemon accepts a new connection first. Then another connection is ended to make room.
    let room = haul_http_limits(connections: UInt32(limits.total) + 32, memory: 16 << 10)
    // The daemon's callbacks use this pointer until `stop` has returned. `stop` keeps `self` alive, and therefore the
    // dispatcher too.
    let context = unsafe Unmanaged.passUnretained(desk).toOpaque()
    guard
      let pointer = unsafe haul_http_start(
        socket.descriptor, room, receivePiece, endExchange, noteConnection, context)
    else {
      close(socket.descriptor)
      throw .noRoom
    }
    daemon = unsafe Daemon(pointer: pointer)
    sweeper = Task {
      while (try? await Task.sleep(for: Self.sweep)) != nil { connections.endLate() }
    }
  }

  /// Stops accepting requests, waits for responses in progress and closes all connections.
  func stop() async {
    sweeper.cancel()
    let listening = unsafe MHD_quiesce_daemon(daemon.pointer)
    for answer in desk.close() { await answer.value }
    // This joins the daemon's thread, so it must not block one of Swift's threads.
    await withCheckedContinuation { continuation in
      let stop: @Sendable () -> Void = { [daemon] in
        unsafe MHD_stop_daemon(daemon.pointer)
        continuation.resume()
      }
      if !DetachedThread.start(stop) { stop() }
    }
    if listening >= 0 { Glibc.close(listening) }
  }
}

/// The daemon's handle. `@unchecked Sendable` is safe because any thread may use the daemon (libmicrohttpd: "Thread safety").
@safe private struct Daemon: @unchecked Sendable {
  let pointer: OpaquePointer
}

/// A connection's handle. `@unchecked Sendable` is safe because threads other than the daemon's only resume the connection,
/// while it is suspended (libmicrohttpd: MHD_resume_connection).
@safe private struct ConnectionHandle: @unchecked Sendable {
  let pointer: OpaquePointer
  /// The connection's id, unique while the connection is open.
  var id: Int { unsafe Int(bitPattern: pointer) }
}

/// Starts a task for each request.
private final class RequestDispatcher: Sendable {
  private struct State {
    var isClosed = false
    var next = 0
    var answers: [Int: Task<Void, Never>] = [:]
  }

  let connections: OpenConnections
  private let handler: HTTPServer.Handler
  private let state = Mutex(State())

  init(_ handler: @escaping HTTPServer.Handler, _ connections: OpenConnections) {
    self.handler = handler
    self.connections = connections
  }

  /// Starts a task that answers `exchange` and then resumes its suspended connection. Does nothing and returns false after
  /// ``close()``.
  func take(_ exchange: Exchange, suspending connection: ConnectionHandle) -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      connections.set(connection.id, .answering)
      unsafe MHD_suspend_connection(connection.pointer)
      let number = state.next
      state.next += 1
      state.answers[number] = Task { [self] in
        exchange.settle(await handler(exchange.request))
        unsafe MHD_resume_connection(connection.pointer)
        forget(number)
      }
      return true
    }
  }

  /// Stops accepting requests. Cancels the answers in progress and returns their tasks.
  func close() -> [Task<Void, Never>] {
    let answers = state.withLock { state in
      state.isClosed = true
      return Array(state.answers.values)
    }
    answers.forEach { $0.cancel() }
    return answers
  }

  private func forget(_ number: Int) { state.withLock { $0.answers[number] = nil } }
}

/// A request and its response. The request arrives on the daemon's thread. A task makes the response.
private final class Exchange: Sendable {
  private struct State {
    var request: HTTPRequest
    var response: HTTPResponse?
  }

  private let state: Mutex<State>

  init(_ request: HTTPRequest) { state = Mutex(State(request: request)) }

  var request: HTTPRequest { state.withLock { $0.request } }
  var response: HTTPResponse? { state.withLock { $0.response } }

  func settle(_ response: HTTPResponse) { state.withLock { $0.response = response } }

  func receive(_ piece: some Collection<UInt8>) {
    state.withLock { state in
      let room = HTTPRequest.longestBody - state.request.body.count
      if piece.count > room { state.request.isTooLong = true }
      state.request.body += piece.prefix(room)
    }
  }
}

/// MHD_AccessHandlerCallback: called when the request's head has arrived, for each piece of a body, at the end, and once more
/// when the response is ready.
private let receivePiece:
  @convention(c) (
    UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
    UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafeMutablePointer<Int>?,
    UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  ) -> MHD_Result = { context, connection, url, method, _, upload, uploadSize, slot in
    guard let context = unsafe context, let connection = unsafe connection,
      let slot = unsafe slot, let uploadSize = unsafe uploadSize
    else { return .NO }
    guard let held = unsafe slot.pointee else {
      let exchange = Exchange(unsafe request(connection, method: method, url: url))
      // Released by `endExchange`.
      unsafe slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
      return .YES
    }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(held).takeUnretainedValue()
    let desk = unsafe Unmanaged<RequestDispatcher>.fromOpaque(context).takeUnretainedValue()
    let handle = unsafe ConnectionHandle(pointer: connection)
    if let response = exchange.response {
      desk.connections.set(handle.id, .sending)
      return unsafe send(response, on: connection)
    }
    if unsafe uploadSize.pointee > 0 {
      unsafe exchange.receive(UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee))
      unsafe uploadSize.pointee = 0
      return .YES
    }
    return desk.take(exchange, suspending: handle) ? .YES : .NO
  }

/// MHD_RequestCompletedCallback: the request has ended, for any reason.
private let endExchange:
  @convention(c) (
    UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    MHD_RequestTerminationCode
  ) -> Void = { context, connection, slot, _ in
    if let context = unsafe context, let connection = unsafe connection {
      let desk = unsafe Unmanaged<RequestDispatcher>.fromOpaque(context).takeUnretainedValue()
      desk.connections.set(unsafe ConnectionHandle(pointer: connection).id, .reading)
    }
    guard let held = unsafe slot?.pointee else { return }
    unsafe Unmanaged<Exchange>.fromOpaque(held).release()
    unsafe slot?.pointee = nil
  }

/// MHD_NotifyConnectionCallback: a connection has begun, or has ended and its socket is about to be closed.
private let noteConnection:
  @convention(c) (
    UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    MHD_ConnectionNotificationCode
  ) -> Void = { context, connection, _, code in
    guard let context = unsafe context, let connection = unsafe connection else { return }
    let desk = unsafe Unmanaged<RequestDispatcher>.fromOpaque(context).takeUnretainedValue()
    let id = unsafe ConnectionHandle(pointer: connection).id
    guard code == .CONNECTION_NOTIFY_STARTED else { return desk.connections.remove(id) }
    let socket = unsafe haul_http_socket(connection)
    desk.connections.add(id, socket: socket, address: OpenConnections.peer(of: socket))
  }

private func request(
  _ connection: OpaquePointer, method: UnsafePointer<CChar>?, url: UnsafePointer<CChar>?
) -> HTTPRequest {
  var request = HTTPRequest(
    method: unsafe method.map { unsafe String(cString: $0) } ?? "",
    path: unsafe url.map { unsafe String(cString: $0) } ?? "")
  for field in HTTPRequest.Field.allCases {
    if let value = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, field.rawValue) {
      request.fields[field] = unsafe String(cString: value)
    }
  }
  for name in HTTPRequest.Parameter.allCases {
    let value = unsafe MHD_lookup_connection_value(connection, .GET_ARGUMENT_KIND, name.rawValue)
    if let value = unsafe value { request.query[name] = unsafe String(cString: value) }
  }
  return request
}

private func send(_ answer: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
  var bytes = Array(answer.body.utf8)
  let made = unsafe bytes.withUnsafeMutableBytes {
    unsafe MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
  }
  guard let response = unsafe made else { return .NO }
  defer { unsafe MHD_destroy_response(response) }
  unsafe MHD_add_response_header(response, "Content-Type", answer.contentType)
  for (name, value) in answer.fields {
    unsafe MHD_add_response_header(response, name, value)
  }
  return unsafe MHD_queue_response(connection, answer.status, response)
}
