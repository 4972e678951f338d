/// The result of an attempt, as the view `haul.attempts` spells it.
package struct AttemptResult: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The attempt has not ended.
  package static let running = AttemptResult(rawValue: "running")
  /// The file was published.
  package static let completed = AttemptResult(rawValue: "completed")
  /// The attempt ended with an error.
  package static let failed = AttemptResult(rawValue: "failed")
  /// The worker gave the job back.
  package static let released = AttemptResult(rawValue: "released")
  /// The worker died, and the job was taken back.
  package static let rescued = AttemptResult(rawValue: "rescued")
  /// An operator cancelled the job.
  package static let cancelled = AttemptResult(rawValue: "cancelled")
  /// An operator paused the job.
  package static let paused = AttemptResult(rawValue: "paused")

  package static let known: [AttemptResult] = ended + [.running]

  /// The results of attempts that have ended.
  package static let ended: [AttemptResult] = [
    .completed, .failed, .released, .rescued, .cancelled, .paused,
  ]
}
