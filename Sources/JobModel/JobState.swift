/// The state of a job, as a word of the view `haul.jobs`.
package struct JobState: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The job waits for a worker.
  package static let queued = JobState(rawValue: "queued")
  /// The job waits for its start time.
  package static let scheduled = JobState(rawValue: "scheduled")
  /// A worker has a lease on the job and runs it.
  package static let running = JobState(rawValue: "running")
  /// The job was interrupted. It waits for a worker that uses the directory where the job's part file is.
  package static let interrupted = JobState(rawValue: "interrupted")
  /// An operator paused the job.
  package static let paused = JobState(rawValue: "paused")
  /// The job's file is published.
  package static let completed = JobState(rawValue: "completed")
  /// The job ended with an error.
  package static let failed = JobState(rawValue: "failed")
  /// An operator cancelled the job.
  package static let cancelled = JobState(rawValue: "cancelled")

  package static let known: [JobState] = [
    .queued, .scheduled, .running, .interrupted, .paused, .completed, .failed, .cancelled,
  ]
}
