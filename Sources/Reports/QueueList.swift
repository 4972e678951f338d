import JobModel
package import JobQueue
package import Terminal

extension QueueRow {
  package typealias Column = Listing<QueueRow>.Column

  package static let columns: [Column] = [
    Column("QUEUE", key: "queue", isName: true, value: { .string($0.queue) }),
    Column("STORE", key: "store", rank: 1, value: { .string($0.store) }),
    Column("QUEUED", key: "queued", .right, value: { .number($0.queued) }),
    Column("SCHEDULED", key: "scheduled", .right, value: { .number($0.scheduled) }),
    Column(
      "RUNNING", key: "running", .right, value: { .number($0.running) },
      text: { row in row.maxRunning.map { "\(row.running) of \($0)" } ?? "\(row.running)" }),
    Column("INTERRUPTED", key: "interrupted", .right, value: { .number($0.interrupted) }),
    Column("HELD", key: "held", .right, value: { .number($0.held) }),
    Column(
      "RATE", key: "rate", .right, value: { .number($0.rate) },
      text: { HumanFormat.rate($0.rate) }),
    Column(
      "PAUSED", key: "paused", value: { .bool($0.paused) },
      text: { $0.paused ? "yes" : "no" }, style: { $0.paused ? .yellow : nil }),
    Column(
      "WORKERS", key: "workers", .right, value: { .number($0.workers) },
      style: { $0.workers == 0 ? .yellow : nil }),
  ]

  /// Further columns of the list, which only the JSON output has.
  package static let moreColumns: [Column] = [
    Column("LIMIT", key: "max_running", .right, value: { .number($0.maxRunning) }),
    Column("WEIGHT", key: "weight", .right, value: { .number($0.weight) }),
    Column(
      "JOB OPTIONS", key: "defaults", value: { .object($0.defaults.members) }),
    Column(
      "KEEP COMPLETED", key: "keep_completed", .right,
      value: { $0.keepCompleted.map { .double($0) } ?? .null }),
    Column(
      "KEEP FAILED", key: "keep_failed", .right,
      value: { $0.keepFailed.map { .double($0) } ?? .null }),
    Column(
      "KEEP CANCELLED", key: "keep_cancelled", .right,
      value: { $0.keepCancelled.map { .double($0) } ?? .null }),
    Column(
      "KEEP KNOWN", key: "keep_known", .right, value: { $0.keepKnown.map { .double($0) } ?? .null }),
  ]

  /// Returns the settings of the queue, such as `weight 3, if_exists "replace"`; nil if every setting has its default.
  @Sendable package static func settings(_ row: QueueRow) -> String? {
    let weight = row.weight == 1 ? [] : ["weight \(row.weight)"]
    let kept = [
      ("completed", row.keepCompleted), ("failed", row.keepFailed),
      ("cancelled", row.keepCancelled),
    ].compactMap { state, time in
      time.map { "keeps \(state) jobs for \(HumanFormat.duration(.seconds($0)))" }
    }
    let all = weight + row.defaults.words + kept
    return all.isEmpty ? nil : all.joined(separator: ", ")
  }
}

/// Job options. The key is the name of the option.
extension [String: JobOption.Value] {
  package var members: [JSONValue.Member] {
    sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json) }
  }

  /// The options as names with values, such as `max_attempts 9`.
  package var words: [String] { members.map { "\($0.name) \($0.value.line)" } }
}

extension JobOption.Value {
  package var json: JSONValue {
    switch self {
    case .number(let number): .int(number)
    case .text(let text): .string(text)
    case .flag(let flag): .bool(flag)
    case .texts(let texts): .array(texts.map { .string($0) })
    }
  }
}
