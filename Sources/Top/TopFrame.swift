import HaulSystem
import JobQueue
import Reports
package import Terminal

/// The screen content for a model, as lines. It has no side effects.
package struct TopFrame {
  let model: TopModel
  private let now: ContinuousClock.Instant
  let hasUnicode: Bool
  let layout: TopLayout
  let width: Int

  /// Creates the screen content of `model` at `now`. Call ``TopModel/scroll()`` first. If `hasUnicode` is false, only ASCII
  /// characters are used.
  package init(_ model: TopModel, at now: ContinuousClock.Instant, hasUnicode: Bool = true) {
    self.model = model
    self.now = now
    self.hasUnicode = hasUnicode
    layout = TopLayout(model.size)
    width = model.size.columns
  }

  /// The lines to draw, at most as many as the screen has rows.
  package var lines: [StyledLine] {
    if layout.isTooSmall {
      let least = TopLayout.least
      let text = "window too small: needs \(least.columns) x \(least.rows); q quits"
      return DisplayWidth.wrapped(text, to: width).map { StyledLine($0) }
    }
    let top = [title, figures.truncated(to: width)] + sparkline + [tabs]
    if let job = model.detail, model.mode != .help {
      return longMessage == nil
        ? top + filled(facts(of: job), to: layout.detailRows) + [status]
        : top + filled(facts(of: job), to: layout.rows + 1) + detail + [status]
    }
    if model.mode == .help {
      return top + filled(TopHelp.lines, to: layout.detailRows) + [status]
    }
    return top + filled(table, to: layout.rows + 1) + detail + [status]
  }

  private func filled(
    _ lines: some Collection<StyledLine>, to room: Int
  ) -> ArraySlice<StyledLine> {
    (Array(lines) + Array(repeating: StyledLine(), count: max(room - lines.count, 0))).prefix(room)
  }

  /// Returns the lines of a job's detail, beginning with the line that it is scrolled to.
  private func facts(of detail: TopDetail) -> ArraySlice<StyledLine> {
    if detail.isGone {
      return [StyledLine("Job \(detail.job.id) is no longer in the pool.", .dim)]
    }
    guard let report = detail.report else {
      return [StyledLine(model.list.trouble ?? "Reading.", .dim)]
    }
    return report.lines(columns: width).map { $0.truncated(to: width) }.dropFirst(detail.top)
  }

  // MARK: Head

  private var title: StyledLine {
    var left = StyledLine("haul top", .bold)
    if let since = model.since { left.append("  \(since.database)", .cyan) }
    switch model.part {
    case .all: break
    case .queue(let name): left.append("  queue \(name)", .yellow)
    case .batch(let name): left.append("  batch \(name)", .yellow)
    }
    return line(left, state)
  }

  /// The age of the figures, and the kind of process that runs the maintenance.
  private var state: StyledLine {
    if let outage = model.outage {
      let age = HumanFormat.age(outage.since.duration(to: now))
      return StyledLine("connection lost \(age) ago, retrying", .red)
    }
    guard let figures = model.figures, let readAt = model.figuresAt else {
      return StyledLine("connecting", .dim)
    }
    let age = readAt.duration(to: now)
    if age >= max(model.interval * 3, .seconds(5)) {
      return StyledLine("no answer for \(HumanFormat.age(age))", .yellow)
    }
    var line = workers
    if model.leader != nil, line.width > 0 { line.append("  ") }
    switch model.leader {
    case nil: break
    case .some(nil): line.append("no maintenance", .yellow)
    case .coordinator: line.append("maintenance: coordinator", .dim)
    case .worker: line.append("maintenance: worker", .dim)
    case .other: line.append("maintenance: another session", .dim)
    }
    line.append(line.width > 0 ? "  \(figures.time)" : figures.time)
    return line
  }

  /// The problems of the workers that an operator must know about in any list.
  private var workers: StyledLine {
    guard let workers = model.workers else { return StyledLine() }
    if workers.count == 0 { return StyledLine("no worker", .red) }
    if workers.troubled == 0 { return StyledLine() }
    return StyledLine("\(workers.troubled) of \(counted(workers.count, "worker")) in trouble", .red)
  }

  private var figures: StyledLine {
    var line = StyledLine()
    guard let figures = model.figures else { return line }
    let add = { (number: String, word: String, style: Style?) in
      if line.width > 0 { line.append("  ") }
      line.append(number, style)
      if !word.isEmpty { line.append(" \(word)", .dim) }
    }
    add(HumanFormat.rate(model.rate), "", .bold)
    if model.part == .all { add(Self.decimal(model.filesRate), "files/s", .bold) }
    add("\(figures.running)", "running", .bold)
    if let waiting = model.waiting {
      if waiting.jobs > 0 || waiting.paused == 0 { add("\(waiting.jobs)", "waiting", .bold) }
      if waiting.paused > 0 { add("\(waiting.paused)", "paused", .yellow) }
    }
    if model.part == .all && figures.failed > 0 {
      // This also counts failures of jobs that were queued again, so it is not the number of failed jobs.
      add(counted(Int(clamping: figures.failed), "failure"), "in 1 h", .red)
    }
    return line
  }

  /// Returns a number as text, with one decimal place below 100, and none otherwise: `0.4`, `12.3`, `240`.
  package static func decimal(_ value: Double) -> String {
    let tenths = Int(clamped: (value * 10).rounded())
    return tenths >= 1000 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  /// The recent rates, one per column, and the highest of them.
  private var sparkline: [StyledLine] {
    let columns = width - Self.scale
    let greatest = model.rates.suffix(columns).max() ?? 0
    let lines = Sparkline(hasUnicode: hasUnicode)
      .lines(model.rates, columns: columns, rows: layout.sparkline)
    return lines.enumerated().map { index, text in
      var line = StyledLine(text, .green)
      if index == 0 && greatest > 0 {
        line.append(" peak " + HumanFormat.rate(Int64(greatest)), .dim)
      }
      return line
    }
  }

  /// The number of columns to the right of the sparkline: ` peak 1023 KiB/s`.
  private static let scale = 16

  // MARK: Table

  private var table: [StyledLine] {
    let list = model.list
    let columns = model.pane.columns
    let rows = list.shown.dropFirst(list.top).prefix(layout.rows)
    let table = TableLayout(columns, rows.map(\.cells), width: width, hasUnicode: hasUnicode)
    var heading = table.heading(marked: list.order?.column ?? -1, mark(list.order))
    heading.isReversed = true
    if rows.isEmpty { return [heading, StyledLine(emptiness, .dim)] }
    return [heading]
      + rows.enumerated().map { index, row in
        var line = table.line(row.cells)
        line.isReversed = list.top + index == list.cursor
        return line
      }
  }

  private func mark(_ order: TopList.SortOrder?) -> String {
    switch (order?.isDescending, hasUnicode) {
    case (nil, _): ""
    case (true?, true): "▼"
    case (false?, true): "▲"
    case (true?, false): "v"
    case (false?, false): "^"
    }
  }

  // MARK: Foot

  /// The full text of the row under the cursor, as far as it fits, or a message that is too long for one line.
  private var detail: [StyledLine] {
    let style = longMessage.map(\.style) ?? .dim
    var rest =
      longMessage?.text ?? model.list.selected?.detail ?? ""
    return (1...layout.detail).map { line in
      if line == layout.detail { return StyledLine(rest, style).truncated(to: width) }
      let (first, others) = DisplayWidth.broken(rest, at: width)
      rest = others
      return StyledLine(first, style)
    }
  }

  private var longMessage: TopModel.Message? {
    model.mode == .list
      ? model.message.flatMap { DisplayWidth.of($0.text) > width ? $0 : nil } : nil
  }

  private var status: StyledLine {
    switch model.mode {
    case .question(let action):
      let choice = StyledLine(" y/N", .bold)
      var line = StyledLine(action.question ?? "", .yellow).truncated(to: width - choice.width)
      line.append(choice)
      return line
    case .filter:
      var line = StyledLine("Filter: ", .bold)
      line.append(model.list.filter)
      line.append(hasUnicode ? "▏" : "_", .bold)
      line.append("  Enter keeps the filter, Esc removes it", .dim)
      return line
    case .help: return StyledLine("press any key to go back", .dim)
    case .list: return message ?? hints
    }
  }

  private var message: StyledLine? {
    if let message = model.message {
      return longMessage == nil ? StyledLine(message.text, message.style) : nil
    }
    // The rows that were read before are still shown.
    guard let trouble = model.list.trouble, !model.list.rows.isEmpty else { return nil }
    return StyledLine(trouble, .yellow)
  }

  /// Returns a line with `right` at the right edge, and as much of `left` as fits.
  func line(_ left: StyledLine, _ right: StyledLine) -> StyledLine {
    let right = right.truncated(to: width)
    var line = left.truncated(to: max(width - right.width - (right.width > 0 ? 2 : 0), 0))
    line.pad(to: width - right.width)
    line.append(right)
    return line
  }
}
