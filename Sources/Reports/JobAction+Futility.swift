package import JobModel
package import JobQueue
import Terminal

extension JobAction {
  /// The number of jobs, newest first, that are examined to explain why an action changed nothing.
  package static var looked: Int { 1000 }

  /// Returns why the action changed no job, from the states of the selected jobs: `no job to retry: 2 jobs are completed, 1 is
  /// paused`. Adds another command if one would help. With `isCut`, `states` has only the states of the newest selected jobs.
  /// With `isUndo`, the action is a retry that undoes cancellations.
  package func futility(
    _ states: [JobState], isCut: Bool = false, isUndo: Bool = false
  ) -> String {
    let nothing = isUndo ? "no cancellation to undo" : "no job to \(rawValue)"
    if states.isEmpty { return "\(nothing): no job matches the selectors" }
    let counts = Dictionary(states.map { ($0, 1) }, uniquingKeysWith: +)
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    // The first number needs the word "job": alone it would look like an id.
    let others = counts.enumerated().map { index, state in
      (index == 0 && !isCut ? counted(state.value, "job") : "\(state.value)")
        + " \(state.value == 1 ? "is" : "are") \(state.key)"
    }
    let advice = counts.lazy.compactMap { self.alternative(to: $0.key, isUndo: isUndo) }.first
    let newest = isCut ? "of the newest \(counted(states.count, "job")), " : ""
    return "\(nothing): \(newest)\(others.joined(separator: ", "))"
      + (advice.map { "; \($0)" } ?? "")
  }

  /// Returns the command that the user probably meant for a job in this state; nil if there is none.
  private func alternative(to state: JobState, isUndo: Bool) -> String? {
    switch (self, state) {
    case (.retry, .failed) where isUndo: "use 'haul retry' to queue failed jobs again"
    case (.retry, .completed):
      "to download a file again, delete the file and run 'haul verify --requeue' with the id of the job"
    case (.retry, .paused): "use 'haul resume' to resume paused jobs"
    case (.resume, .failed), (.resume, .cancelled):
      "use 'haul retry' to queue jobs again"
    default: nil
    }
  }
}
