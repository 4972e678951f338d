import Glibc

/// Named points at which a test stops or kills the process. They work in debug builds only; in a release build the calls do
/// nothing.
enum Failpoint: String {
  case afterClaim = "after_claim"
  case afterSync = "after_sync"
  case beforeRename = "before_rename"
  case afterRename = "after_rename"
  case beforeSettle = "before_settle"

  /// Stops or kills the process if `HAUL_FAILPOINT` names this point: `before_rename=stop` (SIGSTOP) or `before_rename=kill`.
  /// This applies to every job or, with `@path` appended, only to the job with that path.
  static func hit(_ point: Failpoint, path: String) {
    #if DEBUG
      guard let text = unsafe getenv("HAUL_FAILPOINT") else { return }
      let halves = unsafe String(cString: text).split(separator: "@", maxSplits: 1)
      let rule = (halves.first ?? "").split(separator: "=")
      guard rule.count == 2, rule[0] == point.rawValue, halves.count == 1 || halves[1] == path
      else { return }
      // Signal this thread, so that it does not get past this point. A signal to the process might reach another thread first,
      // and this thread would rename and settle meanwhile.
      raise(rule[1] == "kill" ? SIGKILL : SIGSTOP)
    #endif
  }
}
