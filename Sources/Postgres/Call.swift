import HaulSystem
import Synchronization

/// A running operation as the connection's thread sees it.
struct Call {
  let operation: Operation
  var watch: CallWatch
  var cancelRequest: CancelRequest?
  /// The last result that was not an error. `error` is the first error.
  var rows = Rows()
  var error: PostgresError?
  /// Whether the server has answered completely: nothing more arrives for this call.
  var isAnswered = false

  init(_ operation: Operation, now: ContinuousClock.Instant) {
    self.operation = operation
    watch = CallWatch(deadline: now + operation.timeout)
  }

  /// Whether the call may end. It must not end while a cancel request is in progress, because the request would then cancel the
  /// next call.
  var isOver: Bool {
    isAnswered && cancelRequest?.isDone ?? true
  }

  /// Gives the result to the caller. If a statement finished before its cancel request arrived, the result is a success.
  func settle() {
    operation.promise.settle(result)
  }

  /// Gives the result to the caller after the connection ended during the call.
  func settle(lost: PostgresError) {
    operation.promise.settle(isAnswered ? result : .failure(watch.reason?.error ?? lost))
  }

  private var result: Result<Rows, any Error> {
    if let reason = watch.reason {
      // Sent COPY data gets no answer that could prove success.
      if case .copyData = operation.request { return .failure(reason.error) }
      if error?.sqlState == .queryCanceled { return .failure(reason.error) }
    }
    return error.map { .failure($0) } ?? .success(rows)
  }
}

extension CallWatch.Reason {
  /// The error for the caller.
  var error: any Error {
    switch self {
    case .timeout: PostgresError.timedOut
    case .cancellation: CancellationError()
    }
  }
}

/// A cancel request. It blocks, so it has its own short-lived thread.
final class CancelRequest: Sendable {
  private let done = Atomic(false)

  /// Whether the request has ended, so that it can no longer cancel a statement.
  var isDone: Bool { done.load(ordering: .acquiring) }

  /// Sends the request. Signals `wakeUp` when the request has been delivered or has failed.
  init(_ key: LibpqCancelKey?, wakeUp: EventDescriptor) {
    let isStarted = DetachedThread.start {
      key?.request()
      self.done.store(true, ordering: .releasing)
      wakeUp.signal()
    }
    if !isStarted { done.store(true, ordering: .releasing) }
  }
}
