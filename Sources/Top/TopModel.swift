import JobModel
package import JobQueue
import Reports
package import Terminal

/// The state of `haul top`, and the effect of keys on it. The model has no side effects: its owner reads the pool, draws the
/// screen, and carries out the requests.
package struct TopModel: Sendable {
  /// A request that a key makes to the owner of the model.
  package enum Request: Sendable, Equatable {
    case quit
    /// The owner must draw the whole screen, because another program wrote on the screen.
    case redraw
    /// The owner must read the rows or the detail that the screen shows.
    case read
    case perform(TopAction)
  }

  /// The current meaning of keys.
  package enum Mode: Sendable, Equatable {
    case list
    /// The user types a filter. Escape restores the filter `before`.
    case filter(before: String)
    /// The user answers the question about an action.
    case question(TopAction)
    case help
  }

  /// A message at the bottom of the screen. It stays until the next key.
  package struct Message: Sendable, Equatable {
    var text: String
    var style: Style?
  }

  /// The number of rates that are kept for the sparkline.
  private static let memory = 600

  package let part: PoolPart
  /// The time between two reads of the pool.
  package let interval: Duration
  package var size = (columns: 80, rows: 24)
  package internal(set) var pane = TopPane.running
  package private(set) var mode = Mode.list
  package internal(set) var lists: [TopPane: TopList] = [:]
  package internal(set) var message: Message?
  /// The search whose result the list of jobs shows.
  package internal(set) var search: TopSearch
  /// The upper bound for the ids on the next page of jobs; nil if this is the last page.
  package internal(set) var older: Int64?
  /// The job whose detail is shown instead of a list; nil if a list is shown.
  package internal(set) var detail: TopDetail?
  /// The action in progress; nil if there is none.
  package private(set) var current: TopAction?
  /// Whether the user wants to quit although an action is in progress.
  private var isLeaving = false

  package private(set) var since: PoolContext?
  package private(set) var figures: PoolFigures?
  package private(set) var figuresAt: ContinuousClock.Instant?
  /// When the outage began, and why; nil while there is a connection.
  package private(set) var outage: (since: ContinuousClock.Instant, reason: String)?
  /// The kind of process that runs the pool's maintenance. The outer optional is nil until the kind has been read. The inner
  /// optional is nil if no process runs the maintenance.
  package var leader: PoolLeader??
  package var waiting: PoolWaiting?
  package var workers: PoolWorkers?
  package private(set) var rates: [Double] = []
  private var filesMeter = RateMeter()

  package init(part: PoolPart = .all, interval: Duration = .seconds(1)) {
    self.part = part
    self.interval = interval
    search = TopSearch(of: part)
  }

  /// The list that the current tab shows.
  package var list: TopList { lists[pane] ?? TopList() }

  /// The rate of all downloads together in bytes per second.
  package var rate: Int64 { figures?.rate ?? 0 }

  /// The number of jobs that completed per second in the whole pool, over the last 10 seconds.
  package var filesRate: Double { filesMeter.exactRate }

  // MARK: Results of reading

  /// Stores the name of the database, this user's rights, and the minute from which completed jobs are counted.
  package mutating func identify(_ since: PoolContext) { self.since = since }

  /// Shows new figures of the pool.
  package mutating func load(_ figures: PoolFigures, at now: ContinuousClock.Instant) {
    self.figures = figures
    figuresAt = now
    outage = nil
    filesMeter.add(figures.completed, at: now)
    rates = (rates + [Double(rate)]).suffix(Self.memory)
  }

  /// Shows new rows of a list.
  package mutating func load(
    _ page: TopPage, of pane: TopPane, at now: ContinuousClock.Instant
  ) {
    lists[pane, default: TopList()].load(page, at: now)
  }

  /// Records why the rows of a list, or the job that is shown instead, could not be read.
  package mutating func fail(_ trouble: String, of pane: TopPane) {
    lists[pane, default: TopList()].trouble = trouble
  }

  /// Removes the rows of ended jobs that have been visible for ``TopList/lingering`` (5 seconds) or longer at `now`.
  package mutating func pass(_ now: ContinuousClock.Instant) {
    for pane in lists.keys { lists[pane]?.expire(at: now) }
  }

  /// Shows that the connection is lost and the session reconnects.
  package mutating func lose(_ reason: String, at now: ContinuousClock.Instant) {
    outage = (outage?.since ?? now, reason)
  }

  // MARK: Actions

  /// Shows the number of jobs that the action has changed so far.
  package mutating func count(_ jobs: Int) {
    if let current {
      message = Message(text: "\(counted(jobs, "job")) \(current.participle) so far")
    }
  }

  /// Shows the result of an action that has finished or was refused.
  package mutating func finish(_ sentence: String, isError: Bool) {
    current = nil
    isLeaving = false
    message = Message(text: sentence, style: isError ? .red : .green)
  }

  // MARK: Keys

  /// Handles a key. Returns a request to the owner; nil if only the screen content changes.
  package mutating func press(_ key: Key, at now: ContinuousClock.Instant) -> Request? {
    if key == .control("l") { return .redraw }
    switch mode {
    case .list:
      if current == nil { message = nil }
      return detail == nil ? pressInList(key, now) : pressInDetail(key, now)
    case .filter(let before):
      return pressInFilter(key, before)
    case .question(let action):
      mode = .list
      guard key == .character("y") || key == .character("Y") else {
        message = Message(text: "nothing was changed", style: .dim)
        return nil
      }
      return begin(action)
    case .help:
      mode = .list
      return nil
    }
  }

  private mutating func pressInList(
    _ key: Key, _ now: ContinuousClock.Instant
  ) -> Request? {
    switch key {
    case .character("q"): return quit()
    case .enter: return open()
    case .character("?"), .character("h"): help()
    case .character("/"): mode = .filter(before: list.filter)
    case .escape:
      change { $0.find("") }
      if pane == .jobs { return look { $0 = TopSearch(of: $0.part) } }
    case .tab, .right: return show(pane.next(1))
    case .backTab, .left: return show(pane.next(-1))
    case .character(let digit) where digit.wholeNumberValue.flatMap(TopPane.init) != nil:
      return digit.wholeNumberValue.flatMap(TopPane.init).flatMap { show($0) }
    case .up, .character("k"): change { $0.move(-1) }
    case .down, .character("j"): change { $0.move(1) }
    case .pageUp, .control("b"): change { [page] in $0.move(-page) }
    case .pageDown, .control("f"), .character(" "): change { [page] in $0.move(page) }
    case .home, .character("g"): change { $0.move(-$0.shown.count) }
    case .end, .character("G"): change { $0.move($0.shown.count) }
    case .character("s"): change { [shownColumns] in $0.sort(1, among: shownColumns) }
    case .character("S"): change { [shownColumns] in $0.sort(-1, among: shownColumns) }
    case .character("i"): change { $0.reverse() }
    case .character(let letter):
      if pane == .jobs, let request = narrow(letter) { return request }
      return act(letter, now)
    default: break
    }
    return nil
  }

  private mutating func pressInFilter(_ key: Key, _ before: String) -> Request? {
    let filter = list.filter
    switch key {
    case .enter:
      mode = .list
      // While the user typed, the filter applied only to the rows already read.
      if pane == .jobs { return look { $0.find(filter) } }
    case .escape:
      mode = .list
      change { $0.find(before) }
    case .backspace: change { $0.find(String(filter.dropLast())) }
    case .control("u"): change { $0.find("") }
    case .up: change { $0.move(-1) }
    case .down: change { $0.move(1) }
    case .character(let character): change { $0.find(filter + String(character)) }
    default: break
    }
    return nil
  }

  mutating func help() { mode = .help }

  /// Returns the request to quit. If an action is in progress, it would stop halfway: the first call then returns nil and shows a
  /// message, and the user must press the key again.
  mutating func quit() -> Request? {
    if current == nil || isLeaving { return .quit }
    isLeaving = true
    message = Message(
      text: "\(message?.text ?? ""). Press q again to quit before the action has finished",
      style: .yellow)
    return nil
  }

  mutating func show(_ pane: TopPane) -> Request? {
    self.pane = pane
    detail = nil
    return .read
  }

  /// Returns the request to perform the action of a key. Returns nil if `letter` is not the key of an action, if the user must
  /// confirm the action first, or if the action is not possible. In the last case a message says why.
  mutating func act(_ letter: Character, _ now: ContinuousClock.Instant) -> Request? {
    // `=` is the key of `+` without shift.
    guard let verb = TopAction.Verb(rawValue: letter == "=" ? "+" : letter) else { return nil }
    guard current == nil else {
      message?.style = .yellow
      return nil
    }
    guard let subject = detail?.subject ?? list.selected?.subject else {
      message = Message(text: "no row is selected", style: .yellow)
      return nil
    }
    if verb.isDestructive, detail == nil, !list.isSettled(at: now) {
      message = Message(
        text: "this row has just changed. Press \(letter) again to confirm", style: .yellow)
      return nil
    }
    switch TopAction.meaning(of: verb, for: subject) {
    case .hint(let text):
      message = Message(text: text, style: .yellow)
      return nil
    case .action(let action) where since.map { !action.role.isHeld($0.may) } == true:
      let prefix = since?.may.prefix ?? RolePrefix.usual
      message = Message(text: "this action needs the role \(action.role.name(prefix))", style: .red)
      return nil
    case .action(let action) where action.question == nil: return begin(action)
    case .action(let action):
      mode = .question(action)
      return nil
    }
  }

  private mutating func begin(_ action: TopAction) -> Request {
    current = action
    message = Message(text: "\(action.subject.name): in progress")
    return .perform(action)
  }

  mutating func change(_ body: (inout TopList) -> Void) {
    body(&lists[pane, default: TopList()])
  }

  /// The indexes of the pane's columns that fit on the screen.
  private var shownColumns: [Int] {
    let widths = TableLayout(pane.columns, [], width: size.columns).widths
    return widths.indices.filter { widths[$0] != nil }
  }

  /// The number of rows by which a page key moves.
  var page: Int { max(TopLayout(size).rows - 1, 1) }

  /// Scrolls the current list so that its cursor is visible.
  package mutating func scroll() {
    let rows = TopLayout(size).rows
    change { $0.scroll(rows) }
    detail?.scroll(TopLayout(size).detailRows, columns: size.columns)
  }
}
