import EmbeddedPostgres
import HaulTransfer
import JobModel
package import JobQueue
package import LocalPool
import Synchronization
package import Terminal
import Worker

/// Shows the progress of a run of `haul get`, and counts its results.
package final class GetProgress: Sendable {
  private struct State {
    var tally: GetTally
    /// The running transfers. The key is the token.
    var running: [Int64: Running] = [:]
    var total = RateMeter()
    var isStopping = false
    var expected = ExpectedBytes()
    /// The index in `lines` for each path; nil until it is first needed.
    var indices: [String: Int]?
    var hostTrouble = HostTroubleLines()
    var notes = FileNotes()
    /// The task that shows a notice after a while; nil if there is none. The notice names the event that the command waits for.
    var notice: Task<Void, Never>?

    /// Whether to show progress. A run that is stopping shows none, because its number of bytes would not include the saved
    /// bytes of stopped downloads.
    var isCounting: Bool { !isStopping && !tally.isSingleFailure }
  }

  private struct Running {
    var meter = RateMeter()
    /// The maximum number of bytes of the file that were downloaded at any time.
    var most: Int64 = 0
    /// Whether a message has said that the download restarts.
    var isToldAnew = false
  }

  private static let interval = Duration.milliseconds(100)
  /// A transfer whose number of bytes decreases by more than this has restarted. A smaller decrease is normal when a download
  /// continues: Haul first downloads the last bytes again, to compare them with the part file.
  private static let slack: Int64 = 64 << 10
  /// A wait that is shorter than this needs no message.
  private static let patience = Duration.seconds(1)

  private let lines: [SubmitLine]
  private let display: ProgressDisplay
  private let report: (@Sendable (GetFile) -> Void)?
  private let state: Mutex<State>

  /// Creates the progress. `report` is called for each file when the file ends. The first calls are for files that an earlier
  /// run has downloaded.
  package init(
    _ lines: [SubmitLine], on display: ProgressDisplay,
    report: (@Sendable (GetFile) -> Void)? = nil
  ) {
    self.lines = lines
    self.display = display
    self.report = report
    state = Mutex(State(tally: GetTally(lines: lines.count, now: .now)))
  }

  /// Runs `run` to its end, and shows the progress of the run on the display.
  package func follow(_ run: GetRun) async throws -> GetTally {
    let painter = Task {
      while !Task.isCancelled {
        if state.withLock(\.isCounting) {
          let transfers = run.transfers
          sayAnew(transfers)
          display.show(frame(transfers))
        }
        sayMore(state.withLock { $0.hostTrouble.endRound(now: .now) })
        try? await Task.sleep(for: Self.interval)
      }
    }
    defer {
      setNotice(nil)
      display.finish()
    }
    do {
      try await run.run()
    } catch {
      painter.cancel()
      await painter.value
      throw error
    }
    painter.cancel()
    await painter.value
    sayMore(state.withLock { $0.hostTrouble.end() })
    for line in state.withLock(\.notes.closing) { display.say("haul get: \(line)", as: .warning) }
    // The last progress on the display is the final result.
    if state.withLock(\.isCounting) { display.show(frame([])) }
    return state.withLock { state in
      state.tally.ended(now: .now)
      return state.tally
    }
  }

  package func take(_ event: GetRun.Event) {
    setNotice(nil)
    switch event {
    case .database(.creating):
      display.say("haul get: creating a database for the queue (only once)")
    case .database(.waiting):
      setNotice("haul get: waiting until another process has started or stopped the database")
    case .database(.recovering): display.say("haul get: the database is recovering from a crash")
    case .database(.starting): break
    case .submitted(let jobs, let finished, let goingOn):
      state.withLock { $0.tally.submitted(jobs: jobs, finished: finished) }
      for file in finished { tell(file) }
      if goingOn > 0 {
        display.say("haul get: continuing \(counted(goingOn, "file")) of an earlier run")
      }
    case .settled(let lease): settled(lease)
    case .directoryClosed(let reason): state.withLock { $0.tally.trouble = reason }
    }
  }

  /// Replaces the pending notice. The new `line` is shown unless another event comes first.
  private func setNotice(_ line: String?) {
    let notice = line.map { line in
      Task { [display] in
        guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
        display.say(line)
      }
    }
    let last = state.withLock { state in
      defer { state.notice = notice }
      return state.notice
    }
    last?.cancel()
  }

  /// Tells the user that the command is stopping as requested.
  package func stopping() {
    let isFirst = state.withLock { state in
      defer { state.isStopping = true }
      return !state.isStopping
    }
    if isFirst { display.say("haul get: stopping and saving your progress") }
  }

  private func settled(_ lease: SettledLease) {
    let ending = lease.ending
    let isToldAnew = state.withLock { state in
      state.tally.settled(lease)
      return state.running.removeValue(forKey: ending.token)?.isToldAnew ?? false
    }
    let path = ending.path ?? ending.jobPath ?? ""
    if ending.isAnew == true, !isToldAnew, ending.result == .completed {
      sayAnew(path, Self.reason(changes: ending.changes ?? 0))
    }
    let line = line(of: ending.jobPath ?? path)
    if let file = GetFile(lease, line) { report?(file) }
    if ending.result == .completed { note(ending, url: line?.url) }
    guard let error = ending.error else { return }
    let isFailed = lease.state == .failed
    let isShown = state.withLock {
      $0.hostTrouble.take(
        path: path, host: ending.host ?? line?.host ?? "", error: error, isFailed: isFailed)
    }
    guard isShown else { return }
    let url = line.flatMap { try? WebURL($0.url, schemes: WebURL.knownSchemes).redacted }
    let delay = lease.state == .scheduled ? lease.delay ?? .zero : nil
    let end = delay.map { "; next attempt in \(HumanFormat.duration($0))" } ?? ""
    display.say(url ?? path, as: isFailed ? .error : .note) {
      "haul get: \($0): \(ending.message ?? error.rawValue)\(end)"
    }
  }

  private func note(_ ending: LeaseEnding, url: String?) {
    if ending.isSkipped == true { return }
    let type = ending.source.flatMap { SourceRecord(fields: $0).mediaType }
    let names = [url, ending.path].compactMap(\.self)
    let said = state.withLock { $0.notes.take(ending, mediaType: type, names: names) }
    if let said { display.say("haul get: \(said)", as: .warning) }
  }

  private static func reason(changes: Int) -> String {
    changes > 0 ? "the file on the server has changed" : "the server cannot resume the download"
  }

  private func sayAnew(_ path: String, _ reason: String) {
    display.say(path) { "haul get: \($0): starting again from the first byte: \(reason)" }
  }

  /// Says why a download restarts: otherwise the user would wonder why the bar moves back.
  private func sayAnew(_ transfers: [RunningTransfer]) {
    let anew = state.withLock { state in
      transfers.filter { transfer in
        var running = state.running[transfer.token] ?? Running()
        // The transfer may restart before the display has seen its bytes. So the saved bytes count too, once data arrives.
        let isAnswered = transfer.fetched > 0 && transfer.bytes > 0
        running.most = max(running.most, transfer.bytes, isAnswered ? transfer.kept : 0)
        let isNews = !running.isToldAnew && transfer.bytes + Self.slack < running.most
        if isNews { running.isToldAnew = true }
        state.running[transfer.token] = running
        return isNews
      }
    }
    for transfer in anew {
      let reason =
        transfer.isComparing
        ? "the server sends no length, so Haul compares two downloads"
        : Self.reason(changes: transfer.changes)
      sayAnew(transfer.path, reason)
    }
  }

  /// Reports a file that an earlier run downloaded.
  private func tell(_ file: FinishedLine) {
    guard let report else { return }
    let line = line(of: file.path) ?? lines.first { $0.line == file.line }
    report(GetFile(file, line))
  }

  private func sayMore(_ lines: [HostTroubleLines.More]) {
    for line in lines {
      display.say("haul get: \(line.sentence)", as: line.isFailed ? .error : .note)
    }
  }

  private func line(of path: String) -> SubmitLine? {
    state.withLock { state in
      let indices =
        state.indices
        ?? Dictionary(
          zip(lines.lazy.map(\.path), lines.indices), uniquingKeysWith: { first, _ in first })
      state.indices = indices
      return indices[path].map { lines[$0] }
    }
  }

  private func frame(_ transfers: [RunningTransfer]) -> ProgressFrame {
    let now = ContinuousClock.now
    return state.withLock { state in
      let transfers = transfers.sorted { $0.token < $1.token }
      for transfer in transfers {
        state.running[transfer.token, default: Running()].meter.add(transfer.fetched, at: now)
      }
      let bytes = state.tally.bytes + transfers.reduce(0) { $0 + $1.bytes }
      // Bytes of an earlier run and the time until the first byte do not count for the rate.
      let fetched = state.tally.fetched + transfers.reduce(0) { $0 + $1.fetched }
      if fetched > 0 { state.total.add(fetched, at: now) }
      state.expected.look(
        transfers.map(\.total), unfinished: state.tally.unfinished,
        completed: (state.tally.completed, state.tally.bytes))
      // The bar and the number of files include the files of earlier runs.
      let before = state.tally.bytesBefore
      // A file with all its bytes is being published, and another file takes its place on the screen.
      let shown = transfers.filter { transfer in transfer.total.map { transfer.bytes < $0 } ?? true
      }
      let rows = shown.map {
        TransferProgress(
          name: $0.path, bytes: $0.bytes, total: $0.total,
          rate: state.running[$0.token]?.meter.rate ?? 0)
      }
      let longest = rows.compactMap(\.timeLeft).max() ?? .zero
      return ProgressFrame(
        transfers: rows,
        done: state.tally.there, failed: state.tally.failed, all: state.tally.files,
        parts: Double(transfers.count - shown.count),
        bytes: before + bytes, total: state.expected.total.map { before + $0 },
        countsFiles: state.expected.countsFiles,
        rate: state.total.rate,
        timeLeft: state.expected.total.flatMap { state.total.timeLeft(for: $0 - bytes) }
          .map { max($0, longest) })
    }
  }
}
