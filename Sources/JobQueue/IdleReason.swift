/// The reason why no more jobs start on a host, as in the column `why_idle` of the view `haul.hosts`. If several reasons apply,
/// the view shows only one. Newer databases may have reasons that are not listed here.
package enum IdleReason: String, CaseIterable, Sendable {
  case blocked, full, adaptive, unanswered, held, empty, paused, unserved, interval

  /// The explanation of the reason: a clause without a full stop.
  package var meaning: String {
    switch self {
    case .blocked: "the host failed or requested a pause, or an operator blocked it"
    case .full: "the host already has as many transfers as its limit allows"
    case .adaptive: "the host is at its limit, which Haul lowered after refusals"
    case .unanswered: "one transfer runs, and the host has not sent its first byte"
    case .held: "'haul pause' has paused the host's jobs"
    case .empty: "no jobs wait for the host, except scheduled ones"
    case .paused: "'haul queue pause' has paused the queues of the host's jobs"
    case .unserved: "no live worker takes the host's jobs: check queues and workers"
    case .interval: "the minimum time between two starts has not passed"
    }
  }
}
