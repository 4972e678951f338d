/// What happened: the complete list of events any part of Haul logs.
///
/// The raw value is what appears in a line and what alerts match on, so a name, once released,
/// is not changed. The part before the dot says whose event it is.
package enum LogEvent: String, CaseIterable, Sendable {
  case jobStarted = "job.started"
  case jobResumed = "job.resumed"
  case jobRuling = "job.ruling"
  case jobCheckpoint = "job.checkpoint"
  case jobCompleted = "job.completed"
  case jobFailed = "job.failed"
  case jobRetry = "job.retry"
  case jobReleased = "job.released"
  case jobStale = "job.stale"
  case jobPaused = "job.paused"
  case jobCancelled = "job.cancelled"

  case workerStarted = "worker.started"
  case workerRegistered = "worker.registered"
  case workerIdle = "worker.idle"
  case workerDraining = "worker.draining"
  case workerStopped = "worker.stopped"
  case workerSessionLost = "worker.session_lost"
  case workerSessionRestored = "worker.session_restored"
  case workerSuspended = "worker.suspended"
  case workerConfirmed = "worker.confirmed"
  case workerFenced = "worker.fenced"
  case leaseLost = "lease.lost"

  case coordinatorStarted = "coordinator.started"
  case coordinatorStopped = "coordinator.stopped"
  case leaderElected = "leader.elected"
  case leaderLost = "leader.lost"
  case leaderStandby = "leader.standby"
  case rescueDone = "rescue.done"
  case promoteDone = "promote.done"
  case storeClosed = "store.closed"
  case storeOpened = "store.opened"
  case janitorRemoved = "janitor.removed"
  case janitorFailed = "janitor.failed"

  case databaseStarting = "database.starting"
  case databaseStarted = "database.started"
  case databaseStopped = "database.stopped"
  case databaseLost = "database.lost"
  case databaseRestored = "database.restored"
  case databaseRetry = "database.retry"
  case commandReceived = "command.received"
}
