package import JobModel
import JobQueue
import Terminal

/// The states of the jobs that have not ended, and the reasons why waiting jobs do not start.
package struct JobsStanding {
  private let counts: [(state: JobState, count: Int)]
  /// The numbers of jobs that have ended, if they were counted.
  private let ended: [(state: JobState, count: Int)]
  /// The numbers of failed and cancelled jobs that the pool has not removed; nil if ``ended`` counts no removed jobs.
  private let kept: [(state: JobState, count: Int)]?
  /// The reasons why waiting jobs do not start, worst first.
  package let causes: [Cause]
  /// The number of waiting jobs that nothing blocks.
  private let free: Int
  /// The number of causes that are missing from ``causes``.
  private let more: Int
  /// A note that says which jobs the numbers cover; nil if they cover all jobs.
  private let note: String?

  /// The maximum number of reasons that the text for people lists.
  package static let mostCauses = 6

  /// Creates the standing. `counts` are the numbers of jobs that have not ended. `ended` are the numbers of jobs that have
  /// ended, if they were counted. `kept` are the numbers of failed and cancelled jobs that the pool has not removed; nil if
  /// `ended` counts no removed jobs.
  package init(
    counts: [(state: JobState, count: Int)], ended: [(state: JobState, count: Int)] = [],
    kept: [(state: JobState, count: Int)]? = nil,
    causes: [Cause] = [], free: Int = 0, more: Int = 0, note: String? = nil
  ) {
    self.counts = counts
    self.ended = ended.filter { $0.count > 0 }
    self.kept = kept
    self.causes = causes
    self.free = free
    self.more = more
    self.note = note
  }

  /// The number of jobs that have not ended.
  package var total: Int { counts.reduce(0) { $0 + $1.count } }

  /// The number of running jobs whose workers are not dead.
  package var running: Int { max(count(.running, counts) - lost, 0) }

  /// The number of failed jobs; 0 if ended jobs were not counted.
  package var failed: Int { count(.failed, ended) }

  /// The number of ended jobs; 0 if ended jobs were not counted.
  package var over: Int { ended.reduce(0) { $0 + $1.count } }

  /// The number of jobs in the state running whose workers are dead.
  private var lost: Int { causes.filter { $0.kind == .lost }.reduce(0) { $0 + $1.jobs } }

  private func count(_ state: JobState, _ counts: [(state: JobState, count: Int)]) -> Int {
    counts.first { $0.state == state }?.count ?? 0
  }

  /// Returns how many of the jobs that ended in `state` the pool has not removed.
  private func left(_ state: JobState) -> Int {
    let all = count(state, ended)
    return kept.map { min(all, count(state, $0)) } ?? all
  }

  /// Returns how many jobs are waiting, with a line for each reason. `selector` is the option that selects the jobs in another
  /// command. `pool` is the name of the pool.
  package func text(of selector: String, in pool: String? = nil) -> String {
    guard total > 0 else { return end(of: selector, in: pool) }
    let waiting = counts.filter { $0.state != .running && $0.count > 0 }
    let others = waiting.map { "\($0.count) \($0.state.rawValue)" }.joined(separator: ", ")
    var sentences: [String] = []
    if running > 0 {
      sentences.append("\(counted(running, "job")) \(running == 1 ? "runs" : "run").")
    }
    if lost > 0 {
      sentences.append(
        "\(counted(lost, "job")) \(lost == 1 ? "has" : "have") the state running, but no worker runs \(lost == 1 ? "it" : "them")."
      )
    }
    let number = waiting.reduce(0) { $0 + $1.count }
    if number > 0 {
      sentences.append(
        "\(counted(number, "job")) \(number == 1 ? "does" : "do") not run: \(others).")
    }
    if causes.isEmpty && number > 0 {
      sentences.append(
        running > 0
          ? "\(number == 1 ? "It waits" : "They wait") only for running jobs to end."
          : number == 1
            ? "Nothing blocks it: it starts as soon as a worker claims it."
            : "Nothing blocks them: they start as soon as a worker claims them.")
    }
    return ([sentences.joined(separator: " ")] + causeLines).joined(separator: "\n")
  }

  private var causeLines: [String] {
    guard !causes.isEmpty else { return note.map { [$0] } ?? [] }
    var lines = causes.prefix(Self.mostCauses).map(\.line)
    let left = causes.count - lines.count + more
    if left > 0 { lines.append("and \(counted(left, "more reason"))") }
    if free > 0 {
      lines.append(
        "\(counted(free, "job")): Nothing blocks \(free == 1 ? "it" : "them"). Workers start \(free == 1 ? "it" : "them") soon."
      )
    }
    return lines + (note.map { [$0] } ?? [])
  }

  private func end(of selector: String, in pool: String?) -> String {
    let place = pool.map { "the pool \($0)" }
    if over == 0, selector.isEmpty {
      return place.map { "There are no jobs in \($0)." } ?? "This pool has no jobs."
    }
    let whose =
      selector.isEmpty ? "All jobs\(place.map { " in \($0)" } ?? "")" : "All of these jobs"
    let numbers = ended.map { "\($0.count) \($0.state.rawValue)" }.joined(separator: ", ")
    var sentences = ["\(whose) have ended\(numbers.isEmpty ? "" : ": \(numbers)")."]
    let isNarrowed = selector.contains("--state ") || selector.contains("--error ")
    let (failed, cancelled) = (left(.failed), left(.cancelled))
    if failed > 0 {
      let state = selector.isEmpty || cancelled > 0 && !isNarrowed ? "--state failed" : ""
      let again = ["haul retry", state, selector].filter { !$0.isEmpty }.joined(separator: " ")
      sentences.append(
        "'haul failures' shows why \(counted(failed, "job")) failed, and '\(again)' retries \(failed == 1 ? "it" : "them")."
      )
    }
    if cancelled > 0 {
      let again =
        selector.isEmpty
        ? "haul retry --state cancelled"
        : isNarrowed ? "haul retry \(selector)" : "haul cancel --undo \(selector)"
      sentences.append("'\(again)' queues the cancelled \(cancelled == 1 ? "job" : "jobs") again.")
    }
    let removed = self.failed + count(.cancelled, ended) - failed - cancelled
    if removed > 0 {
      sentences.append(
        "\(counted(removed, "failed or cancelled job")) \(removed == 1 ? "was" : "were") removed since then: to download \(removed == 1 ? "its file, submit its URL" : "their files, submit their URLs") again."
      )
    }
    return sentences.joined(separator: " ")
  }
}
