internal import HaulCLibcurl
import Synchronization

/// A request to the engine, with the continuation to resume at its end.
struct PendingExchange: Sendable {
  var request: ExchangeRequest
  let sink: any BodySink
  let handle: ExchangeHandle
  let continuation: CheckedContinuation<ExchangeResult, Never>

  /// Ends the exchange with `outcome`, without starting it.
  func refuse(_ outcome: ExchangeOutcome) {
    continuation.resume(
      returning: ExchangeResult(
        head: nil, outcome: outcome, bytes: 0, cookies: request.cookies, primaryAddress: nil,
        refusedAddresses: []))
  }
}

/// The messages from other threads to the engine thread.
final class EngineMailbox: Sendable {
  enum Message: Sendable {
    /// The case is `indirect` to keep the messages small.
    indirect case start(PendingExchange)
    /// The owner or the sink asked to pause, resume or cancel the exchange of this handle.
    case attend(ExchangeHandle)
    case buffersFreed
    case shutdown
  }

  /// `@unchecked Sendable` is safe because the only call with `multi` is curl_multi_wakeup(3), which any thread may make.
  @safe private struct State: @unchecked Sendable {
    var messages: [Message] = []
    /// The `CURLM` of the engine, or nil after ``close()``.
    var multi: UnsafeMutableRawPointer?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// Creates a mailbox.
  ///
  /// - Parameter multi: the `CURLM` to wake. It must be valid until ``close()``.
  init(_ multi: UnsafeMutableRawPointer) {
    state = Mutex(unsafe State(multi: multi))
  }

  /// Adds a message and wakes the engine thread.
  ///
  /// - Returns: false if the engine has ended and the message was dropped.
  @discardableResult
  func post(_ message: Message) -> Bool {
    state.withLock { state in
      guard let multi = unsafe state.multi else { return false }
      state.messages.append(message)
      // The lock keeps close() from running in between. One wake-up is enough for all messages until the thread takes them.
      if state.messages.count == 1 { unsafe curl_multi_wakeup(multi) }
      return true
    }
  }

  /// Asks the engine to end, and resumes `continuation` when it has ended.
  func shutdown(_ continuation: CheckedContinuation<Void, Never>) {
    let hasEnded = state.withLock { state in
      guard unsafe state.multi != nil || !state.waiting.isEmpty else { return true }
      state.waiting.append(continuation)
      return false
    }
    if hasEnded { continuation.resume() } else { post(.shutdown) }
  }

  /// Returns all messages posted since the last call, oldest first. Only the engine thread calls this.
  func takeAll() -> [Message] {
    state.withLock { state in
      defer { state.messages = [] }
      return state.messages
    }
  }

  /// Refuses further messages and stops using the multi handle. Only the engine thread calls this.
  ///
  /// - Returns: the messages that were not taken.
  func close() -> [Message] {
    state.withLock { state in
      unsafe state.multi = nil
      defer { state.messages = [] }
      return state.messages
    }
  }

  /// Resumes the callers of ``shutdown(_:)``. The engine thread calls this last.
  func ended() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
