package import JobModel
package import JobQueue
import Terminal

/// Where jobs stand that have not ended, and what is in their way.
package struct JobsStanding {
  private let counts: [(state: JobState, count: Int)]
  /// Jobs that have failed, where they were counted.
  package let failed: Int
  /// What keeps those that wait.
  package let obstacle: Obstacle?

  /// `counts` are those of jobs that have not ended; `failed` is the number of jobs that have failed, where it was counted.
  package init(
    counts: [(state: JobState, count: Int)], failed: Int = 0, obstacle: Obstacle?
  ) {
    self.counts = counts
    self.failed = failed
    self.obstacle = obstacle
  }

  /// Jobs that have not ended.
  package var total: Int { counts.reduce(0) { $0 + $1.count } }

  /// Jobs that run.
  package var running: Int { count(.running) }

  private func count(_ state: JobState) -> Int {
    counts.first { $0.state == state }?.count ?? 0
  }

  /// A sentence or two. `selector` names the jobs for another command.
  package func paragraph(of selector: String) -> String {
    guard total > 0 else {
      let end = selector.isEmpty ? "No job is left to do." : "All of these jobs have ended."
      let again = "haul retry\(selector.isEmpty ? " --state failed" : " \(selector)")"
      return failed == 0
        ? end
        : "\(end) \(counted(failed, "job")) failed: 'haul failures' says why, and '\(again)' tries again."
    }
    let waiting = counts.filter { $0.state != .running && $0.count > 0 }
    let others = waiting.map { "\($0.count) \($0.state.rawValue)" }.joined(separator: ", ")
    var sentences: [String] = []
    if running > 0 {
      sentences.append("\(counted(running, "job")) \(running == 1 ? "runs" : "run").")
    }
    if waiting.isEmpty { return sentences.joined() }
    let number = waiting.reduce(0) { $0 + $1.count }
    sentences.append("\(counted(number, "job")) \(number == 1 ? "does" : "do") not run: \(others).")
    if let obstacle {
      let reason = obstacle.sentence(of: selector.isEmpty ? nil : selector)
      sentences.append(reason.prefix(1).uppercased() + reason.dropFirst() + ".")
    } else if running > 0 {
      sentences.append("Nothing is in their way but the jobs that run.")
    } else {
      sentences.append("Nothing is in their way: they start as soon as a worker asks.")
    }
    let paused = count(.paused)
    if paused > 0, obstacle?.kind != .held {
      let jobs = selector.isEmpty ? "--state paused" : selector
      sentences.append("Paused jobs go on with: haul resume \(jobs).")
    }
    return sentences.joined(separator: " ")
  }
}
