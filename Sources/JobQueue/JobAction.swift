package import JobModel

/// What an operator does to all jobs of a selector.
package enum JobAction: String, Sendable, CaseIterable {
  case pause, resume, cancel, retry

  /// What has happened to the jobs: `paused`.
  package var participle: String {
    switch self {
    case .pause: "paused"
    case .resume: "resumed"
    case .cancel: "cancelled"
    case .retry: "queued again"
    }
  }

  /// The states of jobs that have not ended.
  package static let live: [JobState] = [.queued, .interrupted, .scheduled, .running, .paused]

  /// The states that the action changes. Named by their ids, jobs that wait for their next try may be retried too.
  package func states(byID: Bool) -> [JobState] {
    switch self {
    case .pause: [.queued, .interrupted, .scheduled, .running]
    case .resume: [.paused]
    case .cancel: Self.live
    case .retry: byID ? [.failed, .cancelled, .scheduled] : [.failed, .cancelled]
    }
  }
}
