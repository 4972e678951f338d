import Synchronization

/// Limits how many downloads run at the same time. A ``DownloadLine`` decides which download starts next.
final class DownloadGate: Sendable {
  /// One stay of a download in its gates, from its entry until it leaves. A download that enters again gets another number.
  struct Ticket: Hashable, Sendable {
    let download: ObjectIdentifier
    let number: Int
  }

  private struct State: Sendable {
    var line: DownloadLine<Ticket>
    /// The waiting and running downloads.
    var downloads: [Ticket: Download] = [:]
    /// The number of calls of ``DownloadGate/holding(_:)`` in progress. While it is positive, no download starts.
    var holds = 0
  }

  private let state: Mutex<State>

  init(limit: Int, limitPerHost: Int? = nil) {
    state = Mutex(State(line: DownloadLine(limit: limit, limitPerHost: limitPerHost)))
  }

  /// Adds a download to the line. The gate calls ``Download/admitted(_:)`` when the download may start, perhaps before this
  /// function returns.
  func add(_ download: Download, _ ticket: Ticket) {
    change { state in
      state.downloads[ticket] = download
      state.line.add(ticket, host: download.host, priority: download.priority)
    }
  }

  /// Moves a waiting download to the place of its new priority. The order of the other downloads stays the same.
  func prioritize(_ download: Download, _ ticket: Ticket) {
    change { $0.line.prioritize(ticket, download.priority) }
  }

  /// Removes a waiting or running download. An unknown ticket is not an error.
  func remove(_ ticket: Ticket) {
    change { state in
      state.downloads[ticket] = nil
      state.line.remove(ticket)
    }
  }

  /// The limits: concurrent downloads in total and per host, and whether starts are suspended.
  struct Limits: Sendable, Hashable {
    var total: Int
    var perHost: Int?
    var isSuspended: Bool
  }

  /// The present limits.
  var limits: Limits {
    state.withLock {
      Limits(
        total: $0.line.limit, perHost: $0.line.limitPerHost, isSuspended: $0.line.isSuspended)
    }
  }

  /// Changes limits in one step, so that a concurrent change of another limit is not lost. Running downloads continue.
  func configure(_ body: (inout DownloadLine<Ticket>) -> Void) {
    change { body(&$0.line) }
  }

  /// Runs `body`. No download starts before `body` returns.
  func holding(_ body: () -> Void) {
    change { $0.holds += 1 }
    body()
    change { $0.holds -= 1 }
  }

  /// Changes the line, then starts the downloads whose turn has come. Does not hold the lock meanwhile, because these downloads
  /// call the gate.
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
