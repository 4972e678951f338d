import Terminal

/// The rows of one pane, and how a person looks at them. Pure.
package struct TopList: Sendable {
  /// By which column the rows are sorted.
  package struct SortOrder: Sendable, Equatable {
    var column: Int
    var isDescending: Bool
  }

  /// A job that is no longer among those read, and until when its row stays.
  private struct Leaving {
    var row: TopRow
    var until: ContinuousClock.Instant
  }

  /// For so long a row stays that shows how its job ended.
  package static let lingering = Duration.seconds(5)
  /// The most such rows, the latest: on a busy pool others would have no room.
  package static let mostLeaving = 5
  /// For so long after another row came under the cursor a key may still be meant for the one before.
  package static let settling = Duration.seconds(1)

  /// The rows in the order in which they were read, those that stay for a while among them.
  package private(set) var rows: [TopRow] = []
  private var leaving: [Leaving] = []
  /// The rows that the filter finds, in their order.
  package private(set) var shown: [TopRow] = []
  /// Whether there are more than were read.
  package private(set) var isCut = false
  /// When they were read; nil until then.
  package private(set) var readAt: ContinuousClock.Instant?
  /// Why they could not be read the last time.
  package var trouble: String?
  /// nil: as they were read.
  package private(set) var order: SortOrder?
  package private(set) var filter = ""
  /// The place in ``shown`` of the row that the cursor is on.
  package private(set) var cursor = 0
  /// When the row under the cursor last changed without a key: its job changed its state, or another row took its place.
  private var changedAt: ContinuousClock.Instant?
  /// What the cursor was on before all rows were forgotten.
  private var sought: TopSubject?
  /// The first row on the screen.
  package private(set) var top = 0

  /// The row that the cursor is on.
  package var selected: TopRow? { shown.indices.contains(cursor) ? shown[cursor] : nil }

  /// New rows; the cursor stays on what it is on, or where it is if that is gone.
  package mutating func load(_ page: TopPage, at now: ContinuousClock.Instant) {
    let present = Set(page.rows.compactMap(\.subject.jobID))
    let known = Set(leaving.compactMap(\.row.subject.jobID))
    leaving.removeAll { $0.until <= now || $0.row.subject.jobID.map(present.contains) ?? true }
    for row in page.left {
      guard let job = row.subject.jobID, !present.contains(job), !known.contains(job) else {
        continue
      }
      leaving.append(Leaving(row: row, until: now + Self.lingering))
    }
    dropSurplus()
    let before = rows
    change(at: now) { list in
      list.rows = Self.merged(page.rows, list.leaving.map(\.row), as: before)
      list.isCut = page.isCut
      list.readAt = now
      list.trouble = nil
    }
  }

  /// Takes away the rows whose time is over.
  package mutating func expire(at now: ContinuousClock.Instant) {
    let over = Set(leaving.filter { $0.until <= now }.compactMap(\.row.subject.jobID))
    if over.isEmpty { return }
    leaving.removeAll { $0.until <= now }
    change(at: now) { list in
      list.rows.removeAll { $0.subject.jobID.map(over.contains) ?? false }
    }
  }

  /// Takes away all rows: others are looked for. The cursor will be on the same job if that is among them.
  package mutating func forget() {
    sought = selected?.subject ?? sought
    (rows, shown, leaving) = ([], [], [])
    (isCut, readAt, trouble) = (false, nil, nil)
    move(0)
  }

  /// Whether the row under the cursor has been the same for long enough that a key is meant for it.
  package func isSettled(at now: ContinuousClock.Instant) -> Bool {
    changedAt.map { $0 + Self.settling <= now } ?? true
  }

  /// Shows only rows that contain `filter`.
  package mutating func find(_ filter: String) {
    self.filter = filter
    arrange()
  }

  /// Sorts by the next of `columns`, or the one before, and after the last as read. Numbers begin with the greatest.
  package mutating func sort(_ step: Int, among columns: [Int]) {
    let last = order.flatMap { columns.firstIndex(of: $0.column) } ?? -1
    let place = (last + 1 + step + columns.count + 1) % (columns.count + 1) - 1
    order =
      place < 0
      ? nil : SortOrder(column: columns[place], isDescending: isNumeric(columns[place]))
    arrange()
  }

  /// Turns the order round.
  package mutating func reverse() {
    order?.isDescending.toggle()
    arrange()
  }

  /// Moves the cursor by that number of rows; the user looks at the new one.
  package mutating func move(_ rows: Int) {
    if rows != 0 { changedAt = nil }
    cursor = min(max(cursor + rows, 0), max(shown.count - 1, 0))
  }

  /// Scrolls so that the cursor is within `height` rows.
  package mutating func scroll(_ height: Int) {
    top = min(max(top, cursor - height + 1), cursor)
    top = max(min(top, shown.count - height), 0)
  }

  /// Keeps the latest rows of those that leave, and the one that the cursor is on.
  private mutating func dropSurplus() {
    let job = selected?.subject.jobID
    while leaving.count > Self.mostLeaving,
      let first = leaving.firstIndex(where: { $0.row.subject.jobID != job })
    {
      leaving.remove(at: first)
    }
  }

  /// Puts the rows that leave where they stood: behind the row that they followed, else before the one that followed them.
  private static func merged(
    _ rows: [TopRow], _ leaving: [TopRow], as before: [TopRow]
  ) -> [TopRow] {
    if leaving.isEmpty { return rows }
    let jobs = before.map(\.subject.jobID)
    var merged = rows
    let place = { (job: Int64?) in merged.firstIndex { $0.subject.jobID == job } }
    let order = leaving.map { row in (row, jobs.firstIndex(of: row.subject.jobID) ?? 0) }
    for (row, index) in order.sorted(by: { $0.1 < $1.1 }) {
      if let behind = jobs[..<min(index, jobs.count)].reversed().lazy.compactMap(place).first {
        merged.insert(row, at: behind + 1)
      } else {
        let before = jobs.dropFirst(index + 1).lazy.compactMap(place).first
        merged.insert(row, at: before ?? merged.count)
      }
    }
    return merged
  }

  /// Changes rows without a key, and notes when that changes the row under the cursor.
  private mutating func change(
    at now: ContinuousClock.Instant, _ body: (inout TopList) -> Void
  ) {
    let before = selected?.subject
    body(&self)
    arrange()
    if let before, let after = selected?.subject, !before.looksLike(after) { changedAt = now }
  }

  private func isNumeric(_ column: Int) -> Bool {
    rows.contains { row in
      switch row.keys[column] {
      case .int, .double: true
      default: false
      }
    }
  }

  private mutating func arrange() {
    let subject = selected?.subject ?? sought
    shown = filter.isEmpty ? rows : rows.filter { $0.contains(filter) }
    if let order {
      // Those that are alike stay as they were read.
      let sorted = shown.enumerated().sorted { one, two in
        let (first, second) = (one.element.keys[order.column], two.element.keys[order.column])
        if first.precedes(second) { return !order.isDescending }
        if second.precedes(first) { return order.isDescending }
        return one.offset < two.offset
      }
      shown = sorted.map(\.element)
    }
    if let subject, let place = shown.firstIndex(where: { $0.subject.isSame(as: subject) }) {
      cursor = place
    }
    if !shown.isEmpty { sought = nil }
    move(0)
  }
}

extension TopSubject {
  /// Whether both are the same thing, whatever else is known of it by now.
  fileprivate func isSame(as other: TopSubject) -> Bool {
    switch (self, other) {
    case (.worker(let one, _, _), .worker(let two, _, _)): one == two
    case (.job(let one), .job(let two)): one.id == two.id
    default: self == other
    }
  }

  /// Whether a person takes both for the same thing in the same state.
  fileprivate func looksLike(_ other: TopSubject) -> Bool {
    switch (self, other) {
    case (.job(let one), .job(let two)): one.id == two.id && one.state == two.state
    default: isSame(as: other)
    }
  }

  /// The id of the job, where it is one.
  var jobID: Int64? { if case .job(let job) = self { job.id } else { nil } }
}
