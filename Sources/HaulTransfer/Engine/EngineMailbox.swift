internal import HaulCLibcurl
import Synchronization

/// What was asked of the engine: one request and whom to tell.
struct PendingExchange: Sendable {
  var request: ExchangeRequest
  let sink: any BodySink
  let handle: ExchangeHandle
  let continuation: CheckedContinuation<ExchangeResult, Never>

  /// Ends it before it began.
  func refuse(_ outcome: ExchangeOutcome) {
    continuation.resume(
      returning: ExchangeResult(
        head: nil, outcome: outcome, bytes: 0, cookies: request.cookies, primaryAddress: nil,
        refusedAddresses: []))
  }
}

/// How other threads speak to the engine thread.
final class EngineMailbox: Sendable {
  enum Message: Sendable {
    case start(PendingExchange)
    /// The handle's wishes have changed.
    case attend(ExchangeHandle)
    case buffersFreed
    case shutdown
  }

  /// `@unchecked Sendable` holds because the only call with `multi` is curl_multi_wakeup(3), which any thread may
  /// make.
  @safe private struct State: @unchecked Sendable {
    var messages: [Message] = []
    /// nil once the thread has let go of it.
    var multi: UnsafeMutableRawPointer?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// - Parameter multi: the `CURLM` to wake; used until ``close()``.
  init(_ multi: UnsafeMutableRawPointer) {
    state = Mutex(unsafe State(multi: multi))
  }

  /// - Returns: false if the engine has ended; the message is dropped.
  @discardableResult
  func post(_ message: Message) -> Bool {
    state.withLock { state in
      guard let multi = unsafe state.multi else { return false }
      state.messages.append(message)
      // Under the lock, so that close() cannot come between. One wake-up serves all that follow.
      if state.messages.count == 1 { unsafe curl_multi_wakeup(multi) }
      return true
    }
  }

  /// Asks for the end and resumes `continuation` when it is reached.
  func shutdown(_ continuation: CheckedContinuation<Void, Never>) {
    let hasEnded = state.withLock { state in
      guard unsafe state.multi != nil || !state.waiting.isEmpty else { return true }
      state.waiting.append(continuation)
      return false
    }
    if hasEnded { continuation.resume() } else { post(.shutdown) }
  }

  /// For the engine thread: everything posted since the last call, oldest first.
  func takeAll() -> [Message] {
    state.withLock { state in
      defer { state.messages = [] }
      return state.messages
    }
  }

  /// The engine thread's: from now on nothing is posted and the multi handle not touched.
  ///
  /// - Returns: what was posted and not taken.
  func close() -> [Message] {
    state.withLock { state in
      unsafe state.multi = nil
      defer { state.messages = [] }
      return state.messages
    }
  }

  /// The engine thread's last act.
  func ended() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
