package import JobModel
package import JobQueue
import Terminal

/// Where jobs stand that have not ended, and what is in their way.
package struct JobsStanding {
  private let counts: [(state: JobState, count: Int)]
  private let obstacle: Obstacle?

  /// `counts` are those of jobs that have not ended.
  package init(counts: [(state: JobState, count: Int)], obstacle: Obstacle?) {
    self.counts = counts
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
    guard total > 0 else { return "All of these jobs have ended." }
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
      let reason = obstacle.sentence(of: selector)
      sentences.append(reason.prefix(1).uppercased() + reason.dropFirst() + ".")
    } else if running > 0 {
      sentences.append("Nothing is in their way but the jobs that run.")
    } else {
      sentences.append("Nothing is in their way: they start as soon as a worker asks.")
    }
    let paused = count(.paused)
    if paused > 0, obstacle?.kind != .held {
      sentences.append("Paused jobs go on with: haul resume \(selector).")
    }
    return sentences.joined(separator: " ")
  }
}
