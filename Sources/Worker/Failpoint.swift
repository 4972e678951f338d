import Glibc

/// Named points at which a test stops or kills the process. Debug builds only: in a release build the
/// calls are empty.
enum Failpoint: String {
  case afterClaim = "after_claim"
  case afterSync = "after_sync"
  case beforeRename = "before_rename"
  case afterRename = "after_rename"
  case beforeSettle = "before_settle"

  /// Acts as `HAUL_FAILPOINT` says: `before_rename=stop` (SIGSTOP) or `before_rename=kill`, for every job, or with
  /// `@path` behind it for the job of that path alone.
  static func hit(_ point: Failpoint, path: String) {
    #if DEBUG
      guard let text = unsafe getenv("HAUL_FAILPOINT") else { return }
      let halves = unsafe String(cString: text).split(separator: "@", maxSplits: 1)
      let rule = (halves.first ?? "").split(separator: "=")
      guard rule.count == 2, rule[0] == point.rawValue, halves.count == 1 || halves[1] == path
      else { return }
      // To this thread, which then does not get past it: a signal to the process may take another thread first, and this
      // one would rename and settle meanwhile.
      raise(rule[1] == "kill" ? SIGKILL : SIGSTOP)
    #endif
  }
}
