package import JobModel

/// An operator's action on all jobs of a selector.
package enum JobAction: String, Sendable, CaseIterable {
  case pause, resume, cancel, retry

  /// The past participle for messages, such as `paused`: what the action did to the jobs.
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

  /// Returns the states that the action changes. A retry by job id also includes jobs that wait for their next attempt.
  package func states(byID: Bool) -> [JobState] {
    switch self {
    case .pause: [.queued, .interrupted, .scheduled, .running]
    case .resume: [.paused]
    case .cancel: Self.live
    case .retry: byID ? [.failed, .cancelled, .scheduled] : [.failed, .cancelled]
    }
  }
}
