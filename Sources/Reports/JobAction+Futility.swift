package import JobModel
package import JobQueue
import Terminal

extension JobAction {
  /// How many jobs, the newest, are examined to explain why nothing happened to them.
  package static var looked: Int { 1000 }

  /// Why nothing happened, from the states of the jobs that were named: `no job to retry: 2 jobs are completed, 1 is paused`, and what
  /// to do instead where there is something.
  /// `isCut`: there may be more jobs than these, the newest.
  package func futility(_ states: [JobState], isCut: Bool = false) -> String {
    if states.isEmpty { return "no job to \(rawValue): no job matches the selectors" }
    let counts = Dictionary(states.map { ($0, 1) }, uniquingKeysWith: +)
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    // A number alone would be taken for an id.
    let others = counts.enumerated().map { index, state in
      (index == 0 && !isCut ? counted(state.value, "job") : "\(state.value)")
        + " \(state.value == 1 ? "is" : "are") \(state.key)"
    }
    let advice = counts.lazy.compactMap { self.alternative(to: $0.key) }.first
    let newest = isCut ? "of the newest \(counted(states.count, "job")), " : ""
    return "no job to \(rawValue): \(newest)\(others.joined(separator: ", "))"
      + (advice.map { "; \($0)" } ?? "")
  }

  /// What does for a job in this state what was probably meant.
  private func alternative(to state: JobState) -> String? {
    switch (self, state) {
    case (.retry, .completed):
      "to download the file again, delete it and run 'haul verify --requeue' with the job's id"
    case (.retry, .paused): "use 'haul resume' to resume it"
    case (.resume, .failed), (.resume, .cancelled): "use 'haul retry' to queue it again"
    default: nil
    }
  }
}
