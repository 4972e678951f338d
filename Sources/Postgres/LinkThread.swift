import Glibc
import HaulSystem
import Synchronization

/// A connection's own thread: libpq is called here and nowhere else.
struct LinkThread: ~Copyable {
  private let link: Link
  private let libpq: Libpq
  private var call: Call?
  private var isFlushed = true

  /// Connects, serves until the connection ends, and tells everybody. Blocks.
  static func run(
    _ configuration: ConnectionConfiguration, link: Link, connected: Promise<Int32>
  ) {
    do throws(PostgresError) {
      let thread = LinkThread(
        link: link, libpq: try Handshake.connect(configuration, link: link))
      link.database = thread.libpq.database
      connected.settle(.success(thread.libpq.backendPID))
      let (reason, call) = thread.serve()
      link.end(reason)
      call?.settle(lost: reason)
    } catch {
      link.end(error)
      connected.settle(.failure(error))
    }
  }

  private init(link: Link, libpq: consuming Libpq) {
    self.link = link
    self.libpq = libpq
  }

  /// Returns why the connection ended, and the call it ended under. It is closed on return.
  private consuming func serve() -> (PostgresError, Call?) {
    do throws(PostgresError) {
      while true {
        try step()
      }
    } catch {
      return (error, call)
    }
  }

  /// One turn of the loop: do what can be done, then wait.
  private mutating func step() throws(PostgresError) {
    if link.isClosing {
      if call != nil { requestCancel() }
      throw link.closingReason
    }
    if call == nil, let operation = link.takeNext() {
      try start(operation)
    }
    try advance()
    while let notification = libpq.nextNotification() {
      link.notificationsInput.yield(notification)
    }
    if let call, call.isOver {
      self.call = nil
      call.settle()
      return
    }
    try watchCall()
    if link.wakeUp.wait(
      socket: libpq.socket, events: isFlushed ? POLLIN : POLLIN | POLLOUT,
      until: call?.watch.nextCheck)
    {
      try libpq.consumeInput()
    }
  }

  private mutating func start(_ operation: Operation) throws(PostgresError) {
    call = Call(operation, now: .now)
    isFlushed = false
    switch operation.request {
    case .query(let sql, let parameters): try libpq.send(query: sql, parameters: parameters)
    case .script(let sql): try libpq.send(script: sql)
    // Sent by the extended protocol, a Sync would follow at once. A server that is stopped before it has read that one
    // answers it and the Sync at the end of the data, and every later answer would belong to the call before.
    case .copyStart(let sql): try libpq.send(script: sql)
    case .copyData(let bytes): try libpq.send(copyData: bytes)
    case .copyEnd(let failure): try libpq.sendCopyEnd(failure: failure)
    }
  }

  /// Sends and takes in what there is.
  private mutating func advance() throws(PostgresError) {
    if !isFlushed { isFlushed = try libpq.flush() }
    guard let call, !call.isAnswered else { return }
    if case .copyData = call.operation.request {
      self.call?.isAnswered = isFlushed
      return
    }
    while self.call?.isAnswered == false, !libpq.isBusy {
      if let result = libpq.nextResult() {
        try take(result, of: call.operation)
      } else {
        self.call?.isAnswered = true
      }
    }
  }

  private mutating func take(
    _ result: consuming LibpqResult, of operation: Operation
  ) throws(PostgresError) {
    switch result.status {
    case .done:
      call?.rows = result.rows()
      if case .copyStart = operation.request {
        call?.error = .misuse("copyIn needs a COPY … FROM STDIN")
      }
    case .failed:
      let error = result.error()
      if case .connectionLost = error { throw error }
      if error == .noTransactions { throw error }
      if call?.error == nil { call?.error = error }
    case .copyIn:
      if case .copyStart = operation.request {
        call?.isAnswered = true
      } else {
        try libpq.sendCopyEnd(failure: "COPY FROM STDIN needs copyIn")
        isFlushed = false
      }
    case .copyOut:
      throw .misuse("COPY TO STDOUT is not supported; the connection is closed")
    }
  }

  private mutating func watchCall() throws(PostgresError) {
    guard var watch = call?.watch, let operation = call?.operation else { return }
    let action = watch.check(
      now: .now, isCancelled: operation.isCancelled.load(ordering: .acquiring))
    call?.watch = watch
    switch action {
    case .none: break
    case .requestCancel: requestCancel()
    case .giveUp: throw .connectionLost("no answer, not even to a cancel request")
    }
  }

  private mutating func requestCancel() {
    call?.cancelRequest = CancelRequest(libpq.cancelKey(), wakeUp: link.wakeUp)
  }
}
