/// The state of a worker, as the view `haul.workers` spells it.
package struct WorkerState: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The worker's heartbeats arrive in time.
  package static let alive = WorkerState(rawValue: "alive")
  /// The worker's last heartbeat is late.
  package static let silent = WorkerState(rawValue: "silent")
  /// The worker claims no more jobs and hands its downloads over.
  package static let draining = WorkerState(rawValue: "draining")
  /// The worker's heartbeats stopped, and its jobs were taken back.
  package static let dead = WorkerState(rawValue: "dead")
  /// The worker stopped gracefully.
  package static let stopped = WorkerState(rawValue: "stopped")

  package static let known: [WorkerState] = [.alive, .silent, .draining, .dead, .stopped]

  /// The states of a live worker.
  package static let present: [WorkerState] = [.alive, .silent, .draining]
}
