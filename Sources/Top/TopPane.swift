package import JobQueue
package import Terminal

/// A list (tab) of `haul top`. The raw value is the number key that opens it.
package enum TopPane: Int, CaseIterable, Sendable {
  case running = 1
  case queues, hosts, workers, batches, failures, jobs

  package var title: String {
    switch self {
    case .running: "Running"
    case .queues: "Queues"
    case .hosts: "Hosts"
    case .workers: "Workers"
    case .batches: "Batches"
    case .failures: "Failures"
    case .jobs: "Jobs"
    }
  }

  /// The text for an empty list.
  package var emptiness: String {
    switch self {
    case .running: "No job is running."
    case .queues: "No queues."
    case .hosts: "No hosts yet."
    case .workers: "No worker is running."
    case .batches: "No batches."
    case .failures: "No failed jobs."
    case .jobs: "No jobs."
    }
  }

  package var columns: [TableColumn] {
    switch self {
    case .running: TransferRow.table.columns
    case .queues: QueueRow.table.columns
    case .hosts: HostRow.table.columns
    case .workers: WorkerRow.table.columns
    case .batches: BatchRow.table.columns
    case .failures: FailureRow.table.columns
    case .jobs: JobRow.table.columns
    }
  }

  /// The actions on rows of the list, with the keys that start them and names for the help.
  package var verbs: [(key: TopAction.Verb, name: String)] {
    switch self {
    // A failed job's row stays for a while.
    case .running: [(.pause, "pause"), (.cancel, "cancel"), (.retry, "retry")]
    case .queues, .batches:
      [(.pause, "pause"), (.resume, "resume"), (.cancel, "cancel"), (.retry, "retry")]
    case .hosts: [(.pause, "block"), (.resume, "unblock"), (.cancel, "cancel"), (.retry, "retry")]
    case .workers: [(.drain, "drain")]
    case .failures: [(.retry, "retry")]
    case .jobs:
      [
        (.pause, "pause"), (.resume, "resume"), (.cancel, "cancel"), (.retry, "retry"),
        (.verify, "verify"), (.sooner, "sooner"), (.later, "later"),
      ]
    }
  }

  /// The name of the action of the Enter key; nil if Enter does nothing.
  package var opened: String? {
    switch self {
    case .running, .jobs: "open"
    case .queues, .hosts, .batches, .failures: "jobs"
    case .workers: nil
    }
  }

  /// Returns the next list, or the previous one if `step` is negative. After the last list comes the first.
  package func next(_ step: Int) -> TopPane {
    let count = Self.allCases.count
    return TopPane(rawValue: (rawValue - 1 + step + count) % count + 1) ?? .running
  }
}

/// A row of a list in `haul top`.
package struct TopRow: Sendable, Equatable {
  package let subject: TopSubject
  package let cells: [TableCell]
  /// The values of the columns, by which the rows are sorted.
  package let keys: [JSONValue]
  /// A sentence with all data of the row, because the table may have cut or omitted some data.
  package let detail: String
  /// The job of a row in the list of jobs; nil in other lists.
  package let job: JobRow?

  /// Returns whether the row contains the text of a filter. Upper and lower case do not matter.
  package func contains(_ text: String) -> Bool {
    let text = text.lowercased()
    // The database searches path and URL too.
    if let job { return [job.path, job.url].contains { $0.lowercased().contains(text) } }
    return cells.contains { $0.text.lowercased().contains(text) }
      || detail.lowercased().contains(text)
  }

  package static func == (one: TopRow, other: TopRow) -> Bool {
    one.subject == other.subject && one.cells == other.cells && one.detail == other.detail
  }
}

/// The columns of a list on a full screen, with the possible widths of each column. If there is too little room, columns are
/// omitted in a given order.
package struct TopTable<Row>: Sendable {
  package struct Column: Sendable {
    let listing: Listing<Row>.Column
    let width: ClosedRange<Int>
    let rank: Int
    /// Whether the column's value from 0 to 1 is drawn as a bar.
    let isBar: Bool

    init(
      _ listing: Listing<Row>.Column, _ width: ClosedRange<Int>, _ rank: Int, isBar: Bool = false
    ) {
      self.listing = listing
      self.width = width
      self.rank = rank
      self.isBar = isBar
    }
  }

  private let parts: [Column]
  package let columns: [TableColumn]

  package init(_ parts: [Column]) {
    self.parts = parts
    columns = parts.map { $0.listing.column(width: $0.width, rank: $0.rank) }
  }

  /// Creates the table from the columns of `listing` that `sizes` names by their keys, in the order of `sizes`.
  package init(
    _ listing: [Listing<Row>.Column], _ sizes: [(key: String, width: ClosedRange<Int>, rank: Int)]
  ) {
    self.init(
      sizes.compactMap { size in
        listing.first { $0.key == size.key }.map { Column($0, size.width, size.rank) }
      })
  }

  package func row(
    _ row: Row, _ subject: TopSubject, detail: [String?], job: JobRow? = nil
  ) -> TopRow {
    let keys = parts.map { $0.listing.value(row) }
    let cells = zip(parts, keys).map { part, key -> TableCell in
      guard part.isBar else { return part.listing.cell(row) }
      if case .double(let fraction) = key { return .bar(fraction) }
      return .bar(nil)
    }
    return TopRow(
      subject: subject, cells: cells, keys: keys,
      detail: detail.compactMap { $0 }.joined(separator: "; "), job: job)
  }
}
