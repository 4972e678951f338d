/// The state of a worker, as a word of the view `haul.workers`.
package struct WorkerState: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The worker's last heartbeat is less than 3 seconds old.
  package static let alive = WorkerState(rawValue: "alive")
  /// The worker has sent no heartbeat for 3 seconds, but its leases have not ended yet.
  package static let silent = WorkerState(rawValue: "silent")
  /// The worker claims no more jobs, and gives its running jobs to other workers.
  package static let draining = WorkerState(rawValue: "draining")
  /// The worker's heartbeats stopped, and its leases have ended. Haul gives the worker's jobs to other workers.
  package static let dead = WorkerState(rawValue: "dead")
  /// The worker stopped gracefully.
  package static let stopped = WorkerState(rawValue: "stopped")

  package static let known: [WorkerState] = [.alive, .silent, .draining, .dead, .stopped]

  /// All states of a worker that still runs.
  package static let present: [WorkerState] = [.alive, .silent, .draining]
}
