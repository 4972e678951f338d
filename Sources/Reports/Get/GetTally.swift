import HaulSystem
import JobModel
package import JobQueue
import LocalPool
package import Terminal
package import Worker

/// The results of a run of `haul get` so far: counts and bytes.
package struct GetTally: Sendable {
  /// The number of files that this run downloads. Until all lines are in the queue, it is the number of lines.
  package private(set) var all: Int
  /// The number of files that an earlier run has downloaded.
  package private(set) var finishedBefore = 0
  /// The total size in bytes of the files that an earlier run has downloaded.
  package private(set) var bytesBefore: Int64 = 0
  package private(set) var completed = 0
  /// The number of files that are not downloaded because a file with the same name already exists and the option `if_exists`
  /// keeps that file.
  package private(set) var skipped = 0
  package private(set) var failures = FailureTally()
  /// The total size in bytes of the files that this run completed.
  package private(set) var bytes: Int64 = 0
  /// The number of bytes received over the network by attempts that have ended.
  package private(set) var fetched: Int64 = 0
  /// The reason why Haul cannot write to the directory; nil if it can.
  package var trouble: String?
  private let start: ContinuousClock.Instant
  private var end: ContinuousClock.Instant?

  package init(lines: Int, now: ContinuousClock.Instant) {
    all = lines
    start = now
  }

  /// The number of files of the whole list, including the files that an earlier run downloaded.
  package var files: Int { all + finishedBefore }

  /// The number of files of the whole list that now exist on disk.
  package var there: Int { completed + skipped + finishedBefore }

  /// The number of files of this run that are not yet completed, skipped or failed.
  package var unfinished: Int { max(all - completed - skipped - failed, 0) }

  /// Records that all lines are in the queue, and which files were already downloaded.
  package mutating func submitted(jobs: Int, finished: [FinishedLine]) {
    all = jobs
    finishedBefore = finished.count
    bytesBefore = finished.reduce(0) { $0 + $1.bytes }
  }

  /// Counts the result of a job whose lease has ended.
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

  /// Whether the run had only one file, which failed. In this case the line with the error of the file is enough.
  package var isSingleFailure: Bool { all == 1 && failed == 1 && finishedBefore == 0 }

  /// Records the time of the run's end.
  package mutating func ended(now: ContinuousClock.Instant) { end = now }

  private var elapsed: Duration { start.duration(to: end ?? .now) }

  /// The results as members of a JSON object.
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

  /// The results as a sentence, such as `3 files, 1.2 GiB in 42s (29.1 MiB/s), 1 skipped, 4 failed`.
  ///
  /// If an earlier run downloaded files, the sentence also counts the whole list: `…, 298 of 300 complete, 229 from an earlier
  /// run`. This run may have downloaded more or fewer bytes than the completed files have, because of an earlier run or of
  /// unfinished files. The sentence then has both numbers: `1 file, 1.2 GiB; 0.4 GiB downloaded in 15s (…)`.
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
    // If an earlier run downloaded all files, "from an earlier run" says how many.
    if finishedBefore > 0 && finishedBefore < files {
      parts.append("\(completed + finishedBefore) of \(files) complete")
    }
    if finishedBefore > 0 {
      let count = parts.isEmpty ? counted(finishedBefore, "file") : "\(finishedBefore)"
      parts.append("\(count) from an earlier run")
    }
    if skipped > 0 { parts.append("\(skipped) skipped") }
    if failed > 0 { parts.append("\(failed) failed") }
    return parts.joined(separator: ", ")
  }
}
