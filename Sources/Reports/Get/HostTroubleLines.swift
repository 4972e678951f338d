import HaulTransfer
package import JobModel
import Terminal

/// Limits the number of lines about files whose host has problems. For each host and reason, the first ``most`` lines are
/// shown and the other files are counted. Errors that concern only one file are always shown.
package struct HostTroubleLines {
  /// The maximum number of lines for each host and reason.
  package static let most = 3
  /// The time between two reports of the files that were not shown.
  package static let round = Duration.seconds(5)

  private struct Trouble: Hashable {
    var host: String
    var error: ErrorClass
    /// Whether the files finally failed. Otherwise Haul retries them.
    var isFailed: Bool
  }

  private struct Count {
    /// The paths of the files. A file that is retried several times counts once.
    var files: Set<String> = []
    /// The number of these files that were shown or reported as a number.
    var told = 0
    /// The number of lines that were shown, one for each try.
    var lines = 0
  }

  /// A count of files that were not shown, such as `and 197 more files of example.org failed for the same reason`.
  package struct More: Equatable {
    var sentence: String
    var isFailed: Bool
  }

  private static let ofHost = Set(
    ErrorTable.rows.filter { $0.explanation.retry == .host }.map(\.word))

  private var counts: [Trouble: Count] = [:]
  private var lastRound: ContinuousClock.Instant?

  /// Returns whether to show the line about a file that could not be downloaded.
  package mutating func take(path: String, host: String, error: ErrorClass, isFailed: Bool) -> Bool
  {
    guard Self.ofHost.contains(error) else { return true }
    let trouble = Trouble(host: host, error: error, isFailed: isFailed)
    var count = counts[trouble] ?? Count()
    defer { counts[trouble] = count }
    let isNew = count.files.insert(path).inserted
    guard count.lines < Self.most else { return false }
    count.lines += 1
    if isNew { count.told += 1 }
    return true
  }

  /// Returns the counts that have at least doubled since they were last shown. Returns nothing within 5 seconds of the last
  /// report.
  package mutating func endRound(now: ContinuousClock.Instant) -> [More] {
    if let lastRound, lastRound.duration(to: now) < Self.round { return [] }
    lastRound = now
    return tell { _, count in count.files.count >= 2 * count.told }
  }

  /// Returns the counts of all failed files that were not shown.
  package mutating func end() -> [More] { tell { trouble, _ in trouble.isFailed } }

  private mutating func tell(where isDue: (Trouble, Count) -> Bool) -> [More] {
    let due = counts.filter { $0.value.files.count > $0.value.told && isDue($0.key, $0.value) }
    for trouble in due.keys { counts[trouble]?.told = due[trouble]?.files.count ?? 0 }
    return due.sorted { ($0.key.host, $0.key.error) < ($1.key.host, $1.key.error) }.map {
      trouble, count in
      let files = "and \(counted(count.files.count - count.told, "more file")) of \(trouble.host)"
      let end = trouble.isFailed ? "failed" : "will be retried"
      return More(sentence: "\(files) \(end) for the same reason", isFailed: trouble.isFailed)
    }
  }
}
