import Glibc
import HaulSystem
import Synchronization

/// A connection's own thread. libpq is called only on this thread.
struct LinkThread: ~Copyable {
  private let link: Link
  private let libpq: Libpq
  private var call: Call?
  private var isFlushed = true

  /// Connects, serves calls until the connection ends, and then tells all waiting callers. Blocks.
  static func run(
    _ configuration: ConnectionConfiguration, link: Link, connected: Promise<Int32>
  ) {
    do throws(PostgresError) {
      let thread = LinkThread(
        link: link, libpq: try Handshake.connect(configuration, link: link))
      let schema = configuration.schema == .usual ? "" : ", schema \(configuration.schema.name)"
      link.database = thread.libpq.database + schema
      link.isStandby = thread.libpq.isStandby
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

  /// Serves calls until the connection ends, and closes the connection. Returns the reason, and the call that was running; nil
  /// instead of the call if none was running.
  private consuming func serve() -> (PostgresError, Call?) {
    do throws(PostgresError) {
      while true {
        try step()
      }
    } catch {
      return (error, call)
    }
  }

  /// Runs one turn of the loop: does all work that is possible, then waits.
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
    // The extended protocol would send a Sync immediately. If the statement is cancelled before the server has read this Sync,
    // the server answers both this Sync and the one at the end of the data. Every later answer would then belong to the previous
    // call.
    case .copyStart(let sql): try libpq.send(script: sql)
    case .copyData(let bytes): try libpq.send(copyData: bytes)
    case .copyEnd(let failure): try libpq.sendCopyEnd(failure: failure)
    }
  }

  /// Sends pending data and reads the results that have arrived.
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
    case .giveUp: throw .connectionLost("the server did not answer, not even to a cancel request")
    }
  }

  private mutating func requestCancel() {
    call?.cancelRequest = CancelRequest(libpq.cancelKey(), wakeUp: link.wakeUp)
  }
}
