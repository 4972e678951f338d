import HaulSystem
import JobModel
package import JobQueue
import Reports
import Terminal

extension QueueRow {
  package static let table = TopTable(
    columns,
    [
      ("queue", 12...40, 0), ("store", 6...20, 5), ("queued", 7...12, 0), ("scheduled", 9...12, 4),
      ("running", 7...14, 0), ("interrupted", 11...12, 7), ("held", 6...12, 6),
      ("rate", 10...10, 1),
      ("paused", 6...6, 2), ("workers", 7...7, 3),
    ])

  package var topRow: TopRow {
    Self.table.row(
      self, .queue(queue),
      detail: [
        "queue \(queue)", paused ? "paused: no job starts" : nil,
        workers == 0 ? "no live worker serves this queue" : nil,
        interrupted > 0 ? counted(Int(interrupted), "interrupted job") : nil,
        held > 0 ? counted(Int(held), "paused job") : nil,
        Self.settings(self),
      ])
  }
}

extension HostRow {
  /// The text that `haul hosts` shows below a row, with the reason first, for a narrow screen.
  private static let idle = Column(
    "IDLE", key: "why_idle", value: { .text($0.whyIdle) },
    text: { row in
      guard let until = row.blockedUntil else { return row.idle }
      return "blocked: \(row.blockReason ?? "unknown")"
        + (until == "infinity" ? "" : ", until \(HumanFormat.time(until))")
    },
    style: { $0.whyIdle == "blocked" ? .yellow : nil })

  package static let table = TopTable(
    columns.filter { $0.key != idle.key } + [idle],
    [
      ("host", 16...60, 0), ("running", 7...7, 1), ("cap", 6...9, 2), ("min_interval", 8...8, 4),
      // The least width shows `blocked: rate_limited…`.
      ("waiting", 7...7, 3), ("why_idle", 22...80, 0),
    ])

  package var topRow: TopRow {
    Self.table.row(
      self, .host(host),
      detail: [
        host, Self.block(self) ?? whyIdle.flatMap(IdleReason.init)?.meaning,
        whyIdle == nil && waiting
          ? "this host does not delay its waiting jobs. Run 'haul job ID' to see the cause" : nil,
      ])
  }
}

extension WorkerRow {
  package static let table = TopTable(
    columns,
    [
      ("worker", 6...8, 0), ("machine", 10...40, 0), ("pid", 7...7, 4), ("version", 7...12, 6),
      ("state", 8...8, 0), ("running", 7...7, 1), ("concurrency", 4...5, 2), ("rate", 10...10, 0),
      ("silence", 8...8, 3), ("stores", 6...60, 5),
    ])

  package var topRow: TopRow {
    Self.table.row(
      self, .worker(worker, name: name, running: running),
      detail: [
        name, trouble,
        (stores ?? []).isEmpty ? nil : "stores \((stores ?? []).joined(separator: " "))",
        queues.map { "queues \($0.joined(separator: " "))" },
        "version \(version)", "since \(HumanFormat.time(registeredAt))",
      ])
  }
}

extension BatchRow {
  package static let table = TopTable(
    columns,
    [
      ("batch", 11...60, 0), ("jobs", 6...10, 3), ("completed", 9...10, 0), ("failed", 6...8, 0),
      ("cancelled", 9...9, 4), ("unfinished", 6...10, 0), ("bytes", 8...8, 5), ("rate", 10...10, 1),
      ("time_left", 9...9, 2),
    ])

  package var topRow: TopRow {
    Self.table.row(
      self, .batch(batch),
      detail: [
        "batch \(batch)", Self.word(self), counted(Int(running), "running job"),
        cancelled > 0 ? "\(cancelled) cancelled" : nil, HumanFormat.bytes(allBytes),
        "submitted \(HumanFormat.time(submittedAt))",
      ])
  }
}

extension FailureRow {
  package static let table = TopTable(
    columns + moreColumns,
    [
      ("error", 14...20, 0), ("host", 14...50, 0), ("jobs", 7...10, 0), ("hour", 19...19, 1),
      ("first_job", 9...10, 3), ("message", 12...80, 2),
    ])

  package var topRow: TopRow {
    Self.table.row(
      self, .failures(error: error ?? ErrorClass(rawValue: ""), host: host),
      detail: [
        "\(error?.rawValue ?? "unknown") on \(host)", "first job \(firstJob)", message,
        error.map { "haul jobs --error \($0) --host \(shellWord(host)) lists these jobs" },
      ])
  }
}
