/// The reason why no more jobs start on a host, as in the column `why_idle` of the view `haul.hosts`. If several reasons apply,
/// the view shows only one. Newer databases may have reasons that are not listed here.
package enum IdleReason: String, CaseIterable, Sendable {
  case blocked, full, adaptive, unanswered, held, empty, paused, unserved, interval

  /// The explanation of the reason: a clause without a full stop.
  package var meaning: String {
    switch self {
    case .blocked: "after failures, at the host's request, or by an operator"
    case .full: "it runs as many transfers as its limit allows"
    case .adaptive: "it is at its limit, which Haul lowered after refusals"
    case .unanswered: "one transfer runs, and the host has not sent its first byte"
    case .held: "its jobs are paused"
    case .empty: "no jobs wait for it, except scheduled ones"
    case .paused: "its waiting jobs are in paused queues"
    case .unserved: "no live worker takes its jobs. See the queues and workers"
    case .interval: "the minimum time between two starts has not passed"
    }
  }
}
