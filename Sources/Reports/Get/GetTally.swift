import HaulSystem
import JobModel
package import JobQueue
import LocalPool
package import Terminal
package import Worker

/// What has come of a `haul get` so far.
package struct GetTally: Sendable {
  /// Files that this run downloads; the number of lines until they are in the queue.
  package private(set) var all: Int
  /// Files that an earlier run downloaded.
  package private(set) var finishedBefore = 0
  /// Bytes of those files.
  package private(set) var bytesBefore: Int64 = 0
  package private(set) var completed = 0
  /// Files that are not downloaded because another file has the name and must stay.
  package private(set) var skipped = 0
  package private(set) var failures = FailureTally()
  /// Bytes of the completed files.
  package private(set) var bytes: Int64 = 0
  /// Bytes of all attempts that have ended, received over the network.
  package private(set) var fetched: Int64 = 0
  /// Why the directory cannot be written.
  package var trouble: String?
  private let start: ContinuousClock.Instant
  private var end: ContinuousClock.Instant?

  package init(lines: Int, now: ContinuousClock.Instant) {
    all = lines
    start = now
  }

  /// Files of the whole list, including those that an earlier run downloaded.
  package var files: Int { all + finishedBefore }

  /// Files of the whole list that are there.
  package var there: Int { completed + skipped + finishedBefore }

  /// Files that have not ended.
  package var unfinished: Int { max(all - completed - skipped - failed, 0) }

  /// All lines are in the queue.
  package mutating func submitted(jobs: Int, finished: [FinishedLine]) {
    all = jobs
    finishedBefore = finished.count
    bytesBefore = finished.reduce(0) { $0 + $1.bytes }
  }

  /// A lease has ended.
  package mutating func settled(_ lease: SettledLease) {
    fetched += lease.ending.fetched ?? 0
    switch lease.state {
    case .completed where lease.ending.isSkipped == true: skipped += 1
    case .completed:
      completed += 1
      bytes += lease.ending.bytes ?? 0
    case .failed, .cancelled:
      failures.add(lease.cause?.rawValue ?? lease.state.rawValue)
    default: break
    }
  }

  package var failed: Int { failures.count }

  /// Whether all there was to do was one file, and it failed: the line that says why leaves little to be said.
  package var isSingleFailure: Bool { all == 1 && failed == 1 && finishedBefore == 0 }

  /// Nothing more will come.
  package mutating func ended(now: ContinuousClock.Instant) { end = now }

  private var elapsed: Duration { start.duration(to: end ?? .now) }

  /// For programs.
  package var members: [JSONValue.Member] {
    [
      .init("files", .number(files)), .init("completed", .number(completed)),
      .init("skipped", .number(skipped)),
      .init("failed", .number(failed)),
      .init("unfinished", .number(unfinished)), .init("finished_before", .number(finishedBefore)),
      .init("bytes", .number(bytes)), .init("fetched", .number(fetched)),
      .init("seconds", .double(elapsed / .seconds(1))),
      .init(
        "errors",
        .object(
          failures.classes.sorted { $0.key < $1.key }.map { .init($0.key, .number($0.value)) })
      ),
    ]
  }

  /// `3 files, 1.2 GiB in 42s (29.1 MiB/s), 1 skipped, 4 failed`. If an earlier run downloaded files, the whole list is counted
  /// too: `…, 298 of 300 complete, 229 finished before`. If the files hold more or less than this run fetched, because of an
  /// earlier run or of unfinished files, both are shown: `1 file, 1.2 GiB; 0.4 GiB fetched in 15s (…)`.
  package var sentence: String {
    var parts: [String] = []
    if completed > 0 || finishedBefore + skipped == 0 {
      let (size, amount) = (HumanFormat.bytes(bytes), HumanFormat.bytes(fetched))
      var part = counted(completed, "file") + (completed > 0 ? ", \(size)" : "")
      if fetched > 0 && (completed == 0 || size != amount) { part += "; \(amount) downloaded" }
      part += " in \(HumanFormat.duration(elapsed))"
      if fetched > 0 {
        let rate = Int64(clamped: Double(fetched) / max(elapsed / .seconds(1), 0.001))
        part += " (\(HumanFormat.rate(rate)))"
      }
      parts.append(part)
    }
    // Where an earlier run has brought all of it, that says how many.
    if finishedBefore > 0 && finishedBefore < files {
      parts.append("\(completed + finishedBefore) of \(files) complete")
    }
    if finishedBefore > 0 { parts.append("\(finishedBefore) finished before") }
    if skipped > 0 { parts.append("\(skipped) skipped") }
    if failed > 0 { parts.append("\(failed) failed") }
    return parts.joined(separator: ", ")
  }
}
