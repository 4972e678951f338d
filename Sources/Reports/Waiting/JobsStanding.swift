package import JobModel
import Terminal

/// The states of the jobs that have not ended, and the causes that keep them from starting.
package struct JobsStanding {
  private let counts: [(state: JobState, count: Int)]
  /// The number of failed jobs; 0 if they were not counted.
  package let failed: Int
  /// The causes that keep waiting jobs from starting, the worst first.
  package let causes: [Cause]
  /// The number of waiting jobs that nothing blocks.
  private let free: Int
  /// The number of causes that are missing in ``causes``.
  private let more: Int
  /// A note that says which jobs the numbers cover, if they do not cover all.
  private let note: String?

  /// The maximum number of causes that people see.
  package static let mostCauses = 6

  /// Creates a value. `counts` are those of jobs that have not ended. `failed` is the number of failed jobs, if it was
  /// counted.
  package init(
    counts: [(state: JobState, count: Int)], failed: Int = 0, causes: [Cause] = [], free: Int = 0,
    more: Int = 0, note: String? = nil
  ) {
    self.counts = counts
    self.failed = failed
    self.causes = causes
    self.free = free
    self.more = more
    self.note = note
  }

  /// The number of jobs that have not ended.
  package var total: Int { counts.reduce(0) { $0 + $1.count } }

  /// The number of running jobs.
  package var running: Int { count(.running) }

  private func count(_ state: JobState) -> Int {
    counts.first { $0.state == state }?.count ?? 0
  }

  /// Returns how many jobs do not run, with a line for each cause. `selector` selects the jobs for another command.
  package func text(of selector: String) -> String {
    guard total > 0 else { return end(of: selector) }
    let waiting = counts.filter { $0.state != .running && $0.count > 0 }
    let others = waiting.map { "\($0.count) \($0.state.rawValue)" }.joined(separator: ", ")
    var sentences: [String] = []
    if running > 0 {
      sentences.append("\(counted(running, "job")) \(running == 1 ? "runs" : "run").")
    }
    if waiting.isEmpty { return sentences.joined() }
    let number = waiting.reduce(0) { $0 + $1.count }
    sentences.append("\(counted(number, "job")) \(number == 1 ? "does" : "do") not run: \(others).")
    if causes.isEmpty {
      sentences.append(
        running > 0
          ? "They wait only for the running jobs."
          : "Nothing blocks them: they start as soon as a worker claims them.")
    }
    return ([sentences.joined(separator: " ")] + causeLines).joined(separator: "\n")
  }

  private var causeLines: [String] {
    guard !causes.isEmpty else { return note.map { [$0] } ?? [] }
    var lines = causes.prefix(Self.mostCauses).map(\.line)
    let left = causes.count - lines.count + more
    if left > 0 { lines.append("and \(left) more") }
    if free > 0 {
      lines.append(
        "\(counted(free, "job")): Nothing blocks \(free == 1 ? "it" : "them"). Workers start \(free == 1 ? "it" : "them") soon."
      )
    }
    return lines + (note.map { [$0] } ?? [])
  }

  private func end(of selector: String) -> String {
    let end = selector.isEmpty ? "All jobs have ended." : "All of these jobs have ended."
    let again = "haul retry\(selector.isEmpty ? " --state failed" : " \(selector)")"
    return failed == 0
      ? end
      : "\(end) \(counted(failed, "job")) failed. 'haul failures' shows why, and '\(again)' retries them."
  }
}
