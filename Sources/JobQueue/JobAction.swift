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
}
