import HaulTransfer
package import JobModel
import Terminal

/// Lines about files of a host in trouble, no more of them than a person can read: of each host and reason the first few
/// are shown, the others are counted. What is a file's own trouble is always shown.
package struct HostTroubleLines {
  /// Shown of each.
  package static let most = 3
  /// Between two looks at what was not shown.
  package static let round = Duration.seconds(5)

  private struct Trouble: Hashable {
    var host: String
    var error: ErrorClass
    /// Else it is to be tried again.
    var isFailed: Bool
  }

  private struct Count {
    /// One that is tried again and again counts once.
    var files: Set<String> = []
    /// How many of those were shown, and how many were reported as a number.
    var told = 0
    /// One a try.
    var lines = 0
  }

  /// The sentence for those not shown: `and 197 more files of example.org failed for the same reason`.
  package struct More: Equatable {
    var sentence: String
    var isFailed: Bool
  }

  private static let ofHost = Set(
    ErrorTable.rows.filter { $0.explanation.retry == .host }.map(\.word))

  private var counts: [Trouble: Count] = [:]
  private var lastRound: ContinuousClock.Instant?

  /// Whether the line about a file that could not be fetched is shown.
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

  /// Once a round: troubles whose number of files has doubled since they were last shown.
  package mutating func endRound(now: ContinuousClock.Instant) -> [More] {
    if let lastRound, lastRound.duration(to: now) < Self.round { return [] }
    lastRound = now
    return tell { _, count in count.files.count >= 2 * count.told }
  }

  /// Every failure that was not shown.
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
