import Terminal

/// The rows of one list, with filter, sort order, cursor and scroll position. It has no side effects.
package struct TopList: Sendable {
  /// The column by which the rows are sorted, and the direction.
  package struct SortOrder: Sendable, Equatable {
    var column: Int
    var isDescending: Bool
  }

  /// The row of a job that the last read no longer returned, and the time when the row disappears.
  private struct Leaving {
    var row: TopRow
    var until: ContinuousClock.Instant
  }

  /// How long the row of an ended job stays visible.
  package static let lingering = Duration.seconds(5)
  /// The maximum number of visible rows of ended jobs. Only the jobs that ended last stay, because other rows need the room on
  /// a busy pool.
  package static let mostLeaving = 5
  /// How long a key needs confirmation after new data have put another row under the cursor. The user may mean the earlier
  /// row.
  package static let settling = Duration.seconds(1)

  /// The rows in the order in which they were read, including rows of ended jobs that stay for ``lingering`` (5 seconds).
  package private(set) var rows: [TopRow] = []
  private var leaving: [Leaving] = []
  /// The rows that match the filter, in the sort order.
  package private(set) var shown: [TopRow] = []
  /// Whether the database has more rows than were read.
  package private(set) var isCut = false
  /// The time when the rows were read; nil before the first read.
  package private(set) var readAt: ContinuousClock.Instant?
  /// The reason why the last read of the rows failed; nil if it succeeded.
  package var trouble: String?
  /// The sort order; nil for the order in which the rows were read.
  package private(set) var order: SortOrder?
  package private(set) var filter = ""
  /// The index in ``shown`` of the row under the cursor.
  package private(set) var cursor = 0
  /// The time when the row under the cursor last changed without a key: its job changed its state, or another row replaced it.
  /// Nil if the row has not changed since the user moved the cursor.
  private var changedAt: ContinuousClock.Instant?
  /// The subject of the row that was under the cursor before ``forget()`` removed all rows; nil if the cursor need not return
  /// to it.
  private var sought: TopSubject?
  /// The index in ``shown`` of the first row on the screen.
  package private(set) var top = 0

  /// The row under the cursor; nil if there is none.
  package var selected: TopRow? { shown.indices.contains(cursor) ? shown[cursor] : nil }

  /// Replaces the rows. The cursor stays on the same row. If that row is gone, the cursor keeps its position.
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

  /// Removes the rows of ended jobs that have been visible for ``lingering`` (5 seconds).
  package mutating func expire(at now: ContinuousClock.Instant) {
    let over = Set(leaving.filter { $0.until <= now }.compactMap(\.row.subject.jobID))
    if over.isEmpty { return }
    leaving.removeAll { $0.until <= now }
    change(at: now) { list in
      list.rows.removeAll { $0.subject.jobID.map(over.contains) ?? false }
    }
  }

  /// Removes all rows before another search. The cursor later returns to the job that it was on, if the new rows contain the
  /// job.
  package mutating func forget() {
    sought = selected?.subject ?? sought
    (rows, shown, leaving) = ([], [], [])
    (isCut, readAt, trouble) = (false, nil, nil)
    move(0)
  }

  /// Returns whether the cursor has been on the same row for ``settling`` (1 second). If so, a key is meant for this row.
  package func isSettled(at now: ContinuousClock.Instant) -> Bool {
    changedAt.map { $0 + Self.settling <= now } ?? true
  }

  /// Shows only rows that contain `filter`.
  package mutating func find(_ filter: String) {
    self.filter = filter
    arrange()
  }

  /// Sorts by the next of `columns`, or by the previous one if `step` is negative. After the last column, restores the order in
  /// which the rows were read. Numbers are sorted largest first.
  package mutating func sort(_ step: Int, among columns: [Int]) {
    let last = order.flatMap { columns.firstIndex(of: $0.column) } ?? -1
    let place = (last + 1 + step + columns.count + 1) % (columns.count + 1) - 1
    order =
      place < 0
      ? nil : SortOrder(column: columns[place], isDescending: isNumeric(columns[place]))
    arrange()
  }

  /// Reverses the sort order.
  package mutating func reverse() {
    order?.isDescending.toggle()
    arrange()
  }

  /// Moves the cursor by `rows` rows. From then on, a key is meant for the new row.
  package mutating func move(_ rows: Int) {
    if rows != 0 { changedAt = nil }
    cursor = min(max(cursor + rows, 0), max(shown.count - 1, 0))
  }

  /// Scrolls so that the cursor is among the `height` visible rows.
  package mutating func scroll(_ height: Int) {
    top = min(max(top, cursor - height + 1), cursor)
    top = max(min(top, shown.count - height), 0)
  }

  /// Removes the oldest rows of ended jobs beyond ``mostLeaving``, but never the row under the cursor.
  private mutating func dropSurplus() {
    let job = selected?.subject.jobID
    while leaving.count > Self.mostLeaving,
      let first = leaving.firstIndex(where: { $0.row.subject.jobID != job })
    {
      leaving.remove(at: first)
    }
  }

  /// Inserts the rows of ended jobs in their previous places: after the row that they followed, or else before the row that
  /// followed them.
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

  /// Changes rows because of new data or time, and records the time if the row under the cursor changes.
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
      // Rows with equal values keep the order in which they were read.
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
  /// Returns whether both are the same thing, even if their other data differs.
  fileprivate func isSame(as other: TopSubject) -> Bool {
    switch (self, other) {
    case (.worker(let one, _, _), .worker(let two, _, _)): one == two
    case (.job(let one), .job(let two)): one.id == two.id
    default: self == other
    }
  }

  /// Returns whether a person sees both as the same thing in the same state.
  fileprivate func looksLike(_ other: TopSubject) -> Bool {
    switch (self, other) {
    case (.job(let one), .job(let two)): one.id == two.id && one.state == two.state
    default: isSame(as: other)
    }
  }

  /// The id of the job; nil if the subject is not a job.
  var jobID: Int64? { if case .job(let job) = self { job.id } else { nil } }
}
