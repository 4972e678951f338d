import Terminal

/// The rows of one pane, and how a person looks at them. Pure.
package struct TopList: Sendable {
  /// By which column the rows are sorted.
  package struct SortOrder: Sendable, Equatable {
    var column: Int
    var isDescending: Bool
  }

  /// The rows in the order in which they were read.
  package private(set) var rows: [TopRow] = []
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
  /// The first row on the screen.
  package private(set) var top = 0

  /// The row that the cursor is on.
  package var selected: TopRow? { shown.indices.contains(cursor) ? shown[cursor] : nil }

  /// New rows; the cursor stays on what it is on, or where it is if that is gone.
  package mutating func load(_ rows: [TopRow], isCut: Bool, at now: ContinuousClock.Instant) {
    self.rows = rows
    self.isCut = isCut
    readAt = now
    trouble = nil
    arrange()
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

  /// Moves the cursor by so many rows.
  package mutating func move(_ rows: Int) {
    cursor = min(max(cursor + rows, 0), max(shown.count - 1, 0))
  }

  /// Scrolls so that the cursor is within `height` rows.
  package mutating func scroll(_ height: Int) {
    top = min(max(top, cursor - height + 1), cursor)
    top = max(min(top, shown.count - height), 0)
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
    let subject = selected?.subject
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
    move(0)
  }
}

extension TopSubject {
  /// Whether both are the same thing, whatever else is known of it by now.
  fileprivate func isSame(as other: TopSubject) -> Bool {
    switch (self, other) {
    case (.worker(let one, _, _), .worker(let two, _, _)): one == two
    case (.job(let one, _), .job(let two, _)): one == two
    default: self == other
    }
  }
}
