import JobQueue
import Reports
import Terminal

/// Draws two lines: one with the names of the lists (tabs), and one with the keys.
extension TopFrame {
  /// The names of the lists as far as they fit, and which part of the current list is shown.
  var tabs: StyledLine {
    let least = tabs(between: " ", onlyShown: true)
    let right = extent.truncated(to: max(width - least.width - 2, 0))
    let room = width - right.width - (right.width > 0 ? 2 : 0)
    let choices = [tabs(between: "  "), tabs(between: " ")]
    return line(choices.first { $0.width <= room } ?? least, right)
  }

  /// Returns the names of the lists. If `onlyShown` is true, other lists show only their key.
  private func tabs(between gap: String, onlyShown: Bool = false) -> StyledLine {
    var tabs = StyledLine()
    for pane in TopPane.allCases {
      if tabs.width > 0 { tabs.append(gap) }
      if pane == model.pane {
        tabs.append("\(pane.rawValue) \(pane.title)", .reversed)
      } else {
        tabs.append("\(pane.rawValue)\(onlyShown ? "" : " ")", .dim)
        if !onlyShown { tabs.append(pane.title) }
      }
    }
    return tabs
  }

  /// Says which part of the rows is shown. Empty if all rows are shown.
  private var extent: StyledLine {
    let list = model.list
    if let detail = model.detail { return extent(of: detail) }
    if model.pane == .jobs { return jobExtent }
    if !list.filter.isEmpty {
      return StyledLine(
        "\(DisplayWidth.truncated(list.filter, to: 20)): \(list.shown.count) of \(list.rows.count)",
        .yellow)
    }
    if list.isCut { return StyledLine("the first \(list.rows.count)", .dim) }
    return place ?? StyledLine()
  }

  /// Returns `job 17`, and the numbers of its visible lines if not all of them fit.
  private func extent(of detail: TopDetail) -> StyledLine {
    var line = StyledLine("job \(detail.job.id)", .yellow)
    let count = detail.report?.lines(columns: width).count ?? 0
    guard count > layout.detailRows else { return line }
    let last = min(detail.top + layout.detailRows, count)
    line.append(": lines \(detail.top + 1)-\(last) of \(count)", .dim)
    return line
  }

  /// The numbers of the visible rows, or nil if all rows fit.
  private var place: StyledLine? {
    let list = model.list
    guard list.shown.count > layout.rows else { return nil }
    let last = min(list.top + layout.rows, list.shown.count)
    return StyledLine("\(list.top + 1)-\(last) of \(list.shown.count)", .dim)
  }

  /// Says which part of the jobs is shown: `failed, batch films: the newest 300, > older` or `older than job 1200: 12`.
  private var jobExtent: StyledLine {
    let search = model.search
    let list = model.list
    let page = search.pages.last.map { "older than job \($0)" }
    let words = [search.words, page ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
    var line = StyledLine(words, .yellow)
    guard list.readAt != nil else { return line }
    if model.mode == .list || list.filter == search.text {
      if words.isEmpty && !list.isCut { return place ?? line }
      let newest = list.isCut && search.pages.isEmpty ? "the newest " : ""
      let older = list.isCut ? ", > older" : ""
      line.append("\(words.isEmpty ? "" : ": ")\(newest)\(list.rows.count)\(older)", .dim)
    } else {
      line.append("\(words.isEmpty ? "" : ": ")\(list.shown.count) of \(list.rows.count)", .dim)
    }
    return line
  }

  /// The text to show instead of rows if there are none.
  var emptiness: String {
    let list = model.list
    if let trouble = list.trouble { return trouble }
    guard list.readAt != nil else { return "Reading." }
    if model.pane == .jobs, let older = model.older, list.rows.isEmpty {
      return "No match on this page, which ends at job \(older). "
        + "Press > for older jobs, or Esc for all jobs."
    }
    if model.pane == .jobs && !model.search.isAll && list.rows.isEmpty {
      return "No job matches. Press Esc to show all."
    }
    if model.pane == .running, list.rows.isEmpty, let waiting = model.waiting {
      if waiting.jobs > 0, let queue = waiting.pausedQueue {
        return "No job is running, because the queue \(queue) is paused. Press 2 to see the queues."
      }
      if waiting.jobs == 0, waiting.paused > 0 {
        return "No job is running, because all remaining jobs are paused. Press 7 to see them."
      }
    }
    return list.rows.isEmpty
      ? model.pane.emptiness : "No row contains the filter text. Press Esc to remove the filter."
  }

  /// The keys of the list, and the keys that act on the row under the cursor.
  var hints: StyledLine {
    let verbs = activeVerbs.map { verb, name in
      (text: (key: String(verb.rawValue), name: name), isMinor: verb == .sooner || verb == .later)
    }
    let isList = model.detail == nil
    var keys: [(key: String, name: String)] =
      isList ? [("q", "quit"), ("?", "help")] : [("Esc", "back"), ("?", "help")]
    if isList {
      keys.append(("/", model.pane == .jobs ? "find" : "filter"))
      keys += model.pane.opened.map { [("Enter", $0)] } ?? []
    }
    // Rarely used keys come last, because a narrow screen has no room for them.
    keys += verbs.filter { !$0.isMinor }.map(\.text)
    if isList && model.pane == .jobs {
      keys += [("f", "state"), ("b", "batch"), ("o", "host")]
    }
    keys += verbs.filter(\.isMinor).map(\.text)
    if isList { keys.append(("s", "sort")) }
    var line = StyledLine()
    for (key, name) in keys {
      if line.width > 0 { line.append("  ") }
      line.append(key, .bold)
      line.append(" \(name)", .dim)
    }
    return line
  }

  /// The actions possible on the row under the cursor. If the cursor is on no row, these are all actions of the list.
  private var activeVerbs: [(key: TopAction.Verb, name: String)] {
    let verbs = model.detail == nil ? model.pane.verbs : TopPane.jobs.verbs
    guard let subject = model.detail?.subject ?? model.list.selected?.subject else { return verbs }
    return verbs.filter { verb, _ in
      if case .action = TopAction.meaning(of: verb, for: subject) { true } else { false }
    }
  }
}
