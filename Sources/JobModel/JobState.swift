/// The state of a job, as the view `haul.jobs` spells it.
package struct JobState: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// Waits for a worker.
  package static let queued = JobState(rawValue: "queued")
  /// Waits for its time.
  package static let scheduled = JobState(rawValue: "scheduled")
  /// A worker holds a lease on it.
  package static let running = JobState(rawValue: "running")
  /// Waits for a worker that has a part of its file.
  package static let interrupted = JobState(rawValue: "interrupted")
  /// An operator paused it.
  package static let paused = JobState(rawValue: "paused")
  /// Its file is published.
  package static let completed = JobState(rawValue: "completed")
  /// It ended with an error.
  package static let failed = JobState(rawValue: "failed")
  /// An operator cancelled it.
  package static let cancelled = JobState(rawValue: "cancelled")

  package static let known: [JobState] = [
    .queued, .scheduled, .running, .interrupted, .paused, .completed, .failed, .cancelled,
  ]
}
