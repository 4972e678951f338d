package import JobModel

/// An action of an operator on all jobs that fit a selector.
package enum JobAction: String, Sendable, CaseIterable {
  case pause, resume, cancel, retry

  /// The past participle of the action for messages, such as `paused`.
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

  /// Returns the states of jobs that the action changes. A retry by job id also includes jobs that wait for their next attempt.
  package func states(byID: Bool) -> [JobState] {
    switch self {
    case .pause: [.queued, .interrupted, .scheduled, .running]
    case .resume: [.paused]
    case .cancel: Self.live
    case .retry: byID ? [.failed, .cancelled, .scheduled] : [.failed, .cancelled]
    }
  }
}
