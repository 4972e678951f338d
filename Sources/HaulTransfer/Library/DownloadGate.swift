import Synchronization

/// Lets downloads begin so many at once: a ``DownloadLine`` that tells them.
final class DownloadGate: Sendable {
  /// A download's stay in its gates. One that has left and comes again has another number.
  struct Ticket: Hashable, Sendable {
    let download: ObjectIdentifier
    let number: Int
  }

  private struct State: Sendable {
    var line: DownloadLine<Ticket>
    /// Those that wait or run.
    var downloads: [Ticket: Download] = [:]
    /// Nobody is let in while there are some.
    var holds = 0
  }

  private let state: Mutex<State>

  init(limit: Int, limitPerHost: Int? = nil) {
    state = Mutex(State(line: DownloadLine(limit: limit, limitPerHost: limitPerHost)))
  }

  /// Has the download wait; it is told by ``Download/admitted(_:)``, perhaps before this returns.
  func add(_ download: Download, _ ticket: Ticket) {
    change { state in
      state.downloads[ticket] = download
      state.line.add(ticket, host: download.host, priority: download.priority)
    }
  }

  /// Changes the place of one that waits. Of one that is not there or runs, nothing changes.
  func prioritize(_ download: Download, _ ticket: Ticket) {
    change { $0.line.prioritize(ticket, download.priority) }
  }

  /// Removes the download, whether it waits or runs. One that is not there is no error.
  func remove(_ ticket: Ticket) {
    change { state in
      state.downloads[ticket] = nil
      state.line.remove(ticket)
    }
  }

  /// The most at once, in all and of one host, and whether nobody begins.
  struct Limits: Sendable, Hashable {
    var total: Int
    var perHost: Int?
    var isSuspended: Bool
  }

  /// The limits. Lower ones end nothing that runs.
  var limits: Limits {
    get {
      state.withLock {
        Limits(
          total: $0.line.limit, perHost: $0.line.limitPerHost, isSuspended: $0.line.isSuspended)
      }
    }
    set {
      change { state in
        state.line.limit = newValue.total
        state.line.limitPerHost = newValue.perHost
        state.line.isSuspended = newValue.isSuspended
      }
    }
  }

  /// Runs `body`, and lets nobody in meanwhile.
  func holding(_ body: () -> Void) {
    change { $0.holds += 1 }
    body()
    change { $0.holds -= 1 }
  }

  /// Changes the line, and tells who may begin. Not under the lock: they come back at once.
  private func change(_ body: (inout State) -> Void) {
    let admitted = state.withLock { state in
      body(&state)
      var admitted: [(Download, Ticket)] = []
      while state.holds == 0, let ticket = state.line.next() {
        if let download = state.downloads[ticket] { admitted.append((download, ticket)) }
      }
      return admitted
    }
    for (download, ticket) in admitted { download.admitted(ticket) }
  }
}
