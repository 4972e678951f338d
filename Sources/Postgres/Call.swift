import HaulSystem
import Synchronization

/// A running operation, as the connection's thread sees it.
struct Call {
  let operation: Operation
  var watch: CallWatch
  var cancelRequest: CancelRequest?
  /// The last result that was no error, and the first error.
  var rows = Rows()
  var error: PostgresError?
  /// Nothing more will arrive for this call.
  var isAnswered = false

  init(_ operation: Operation, now: ContinuousClock.Instant) {
    self.operation = operation
    watch = CallWatch(deadline: now + operation.timeout)
  }

  /// Whether the call may end. While a cancel request is under way it may not: the request would
  /// hit the next call.
  var isOver: Bool {
    isAnswered && cancelRequest?.isDone ?? true
  }

  /// Tells the caller. A statement that was finished before its cancel request arrived is a success.
  func settle() {
    operation.promise.settle(result)
  }

  /// Tells the caller of a connection that ended under the call.
  func settle(lost: PostgresError) {
    operation.promise.settle(isAnswered ? result : .failure(watch.reason?.error ?? lost))
  }

  private var result: Result<Rows, any Error> {
    if let reason = watch.reason {
      // Sending COPY data has no answer that could prove success.
      if case .copyData = operation.request { return .failure(reason.error) }
      if error?.sqlState == .queryCanceled { return .failure(reason.error) }
    }
    return error.map { .failure($0) } ?? .success(rows)
  }
}

extension CallWatch.Reason {
  /// The result for the caller.
  var error: any Error {
    switch self {
    case .timeout: PostgresError.timedOut
    case .cancellation: CancellationError()
    }
  }
}

/// A cancel request on a short-lived thread of its own, since it blocks.
final class CancelRequest: Sendable {
  private let done = Atomic(false)

  /// Whether it can no longer hit anything.
  var isDone: Bool { done.load(ordering: .acquiring) }

  /// Sends the request and signals `wakeUp` when it has been delivered or has failed.
  init(_ key: LibpqCancelKey?, wakeUp: EventDescriptor) {
    let isStarted = DetachedThread.start {
      key?.request()
      self.done.store(true, ordering: .releasing)
      wakeUp.signal()
    }
    if !isStarted { done.store(true, ordering: .releasing) }
  }
}
