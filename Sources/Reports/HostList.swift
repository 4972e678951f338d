package import JobQueue
package import Terminal

extension HostRow {
  package typealias Column = Listing<HostRow>.Column

  package static let columns: [Column] = [
    Column("HOST", key: "host", isName: true, value: { .string($0.host) }),
    Column("RUNNING", key: "running", .right, value: { .number($0.running) }),
    Column(
      "CAP", key: "cap", .right, value: { .number($0.cap) },
      text: { $0.cap < $0.policyCap ? "\($0.cap) of \($0.policyCap)" : "\($0.cap)" },
      style: { $0.cap < $0.policyCap ? .yellow : nil }),
    .interval { $0.interval },
    Column(
      "WAITING", key: "waiting", value: { .bool($0.waiting) },
      text: { $0.waiting ? "yes" : "no" }),
    Column(
      "IDLE", key: "why_idle", value: { .text($0.whyIdle) },
      text: { $0.idle },
      style: { $0.whyIdle == "blocked" ? .yellow : nil }),
  ]

  /// The reason why no more jobs start on the host. If the reason is that jobs are paused, the text includes their number.
  package var idle: String {
    guard let whyIdle else { return "-" }
    guard whyIdle == IdleReason.held.rawValue, let held else { return whyIdle }
    return "\(whyIdle) (\(held < Self.mostHeld ? "" : "at least ")\(held))"
  }

  /// Further columns of the list, which only the JSON output has.
  package static let moreColumns: [Column] = [
    .time("BLOCKED UNTIL", key: "blocked_until") { $0.blockedUntil },
    Column("BLOCKED BY", key: "block_reason", value: { .text($0.blockReason) }),
    Column("FAILURES", key: "failures", .right, value: { .number($0.failures) }),
    Column("POLICY", key: "policy_cap", .right, value: { .number($0.policyCap) }),
    Column("HELD", key: "held", .right, value: { .number($0.held ?? 0) }),
    Column("BURST", key: "burst", .right, value: { .number($0.burst) }),
    .time("LAST START", key: "last_start") { $0.lastStart },
    Column(
      "RANGES", key: "range_unsafe", value: { .bool($0.rangeUnsafe ?? false) },
      text: { $0.rangeUnsafe == true ? "unsafe" : "used" }),
  ]

  /// Returns until when and why the host is blocked, such as `blocked until 2026-11-21 15:30:12: connect, 3 failures in a row`;
  /// nil if the host is not blocked.
  @Sendable package static func block(_ row: HostRow) -> String? {
    guard let until = row.blockedUntil else { return nil }
    if row.blockReason == "operator" {
      let end = until == "infinity" ? "you run 'haul host unblock'" : HumanFormat.time(until)
      return "blocked by an operator until \(end)"
    }
    let failures = row.failures > 1 ? ", \(row.failures) failures in a row" : ""
    return "blocked until \(HumanFormat.time(until)): \(row.blockReason ?? "unknown")\(failures)"
  }
}
