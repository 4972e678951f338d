/// Why a host starts nothing more, as the column `why_idle` of `haul.hosts` spells it. Of several that hold the view tells
/// the first; what a newer database may tell besides is not listed here.
package enum IdleReason: String, CaseIterable, Sendable {
  case blocked, full, adaptive, unanswered, held, empty, paused, unserved, interval

  /// A clause.
  package var meaning: String {
    switch self {
    case .blocked: "at the host's wish, after failures or by an operator"
    case .full: "as many run as may"
    case .adaptive: "as many run as its refusals have left of its cap"
    case .unanswered: "one transfer runs, and the host has not sent a byte yet"
    case .held: "its jobs are paused, one by one or with their batch"
    case .empty: "nothing waits for it, unless scheduled for later"
    case .paused: "all that waits for it is in paused queues"
    case .unserved: "no live worker takes what waits for it: see the queues and workers"
    case .interval: "the interval between two starts is not over"
    }
  }
}
