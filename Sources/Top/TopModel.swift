import JobModel
package import JobQueue
import Reports
package import Terminal

/// What `haul top` shows and what keys do to that. Pure: its owner reads the pool, draws, and carries out its requests.
package struct TopModel: Sendable {
  /// What the owner is to do after a key.
  package enum Request: Sendable, Equatable {
    case quit
    /// Draw the whole screen, because another program has written on it.
    case redraw
    /// Read what is shown now.
    case read
    case perform(TopAction)
  }

  /// What keys are for.
  package enum Mode: Sendable, Equatable {
    case list
    /// A filter is typed; the one before comes back with Escape.
    case filter(before: String)
    /// A question about what will be done.
    case question(TopAction)
    case help
  }

  /// What is said at the bottom until the next key.
  package struct Message: Sendable, Equatable {
    var text: String
    var style: Style?
  }

  /// The number of the pool's rates that are kept for the sparkline.
  private static let memory = 600

  package let part: PoolPart
  /// Between two looks at the pool.
  package let interval: Duration
  package var size = (columns: 80, rows: 24)
  package internal(set) var pane = TopPane.running
  package private(set) var mode = Mode.list
  package internal(set) var lists: [TopPane: TopList] = [:]
  package internal(set) var message: Message?
  /// Which jobs the list of jobs shows.
  package internal(set) var search: TopSearch
  /// Where the next page of jobs begins; nil where this is the last.
  package internal(set) var older: Int64?
  /// The job that is shown instead of the pane.
  package internal(set) var detail: TopDetail?
  /// What is being done and has not yet ended.
  package private(set) var current: TopAction?
  /// The user wants to go although something is being done.
  private var isLeaving = false

  package private(set) var since: PoolContext?
  package private(set) var figures: PoolFigures?
  package private(set) var figuresAt: ContinuousClock.Instant?
  /// Since when there is no connection, and why; nil while there is one.
  package private(set) var outage: (since: ContinuousClock.Instant, reason: String)?
  /// The leader; nil until it is known, and nil within if there is none.
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

  /// The rows of the pane that is shown.
  package var list: TopList { lists[pane] ?? TopList() }

  /// Bytes a second.
  package var rate: Int64 { figures?.rate ?? 0 }

  /// Files a second, lately, over the whole pool.
  package var filesRate: Double { filesMeter.exactRate }

  // MARK: What was read

  /// Which database it is.
  package mutating func identify(_ since: PoolContext) { self.since = since }

  /// The pool was looked at.
  package mutating func load(_ figures: PoolFigures, at now: ContinuousClock.Instant) {
    self.figures = figures
    figuresAt = now
    outage = nil
    filesMeter.add(figures.completed, at: now)
    rates = (rates + [Double(rate)]).suffix(Self.memory)
  }

  /// A pane was read.
  package mutating func load(
    _ page: TopPage, of pane: TopPane, at now: ContinuousClock.Instant
  ) {
    lists[pane, default: TopList()].load(page, at: now)
  }

  /// A pane could not be read, or the job that is shown instead of it.
  package mutating func fail(_ trouble: String, of pane: TopPane) {
    lists[pane, default: TopList()].trouble = trouble
  }

  /// Time passes.
  package mutating func pass(_ now: ContinuousClock.Instant) {
    for pane in lists.keys { lists[pane]?.expire(at: now) }
  }

  /// The connection is lost, and the session is reconnecting.
  package mutating func lose(_ reason: String, at now: ContinuousClock.Instant) {
    outage = (outage?.since ?? now, reason)
  }

  // MARK: What is done

  /// Shows how many jobs the action has changed so far.
  package mutating func count(_ jobs: Int) {
    if let current {
      message = Message(text: "\(counted(jobs, "job")) \(current.participle) so far")
    }
  }

  /// The action is done, or was refused.
  package mutating func finish(_ sentence: String, isError: Bool) {
    current = nil
    isLeaving = false
    message = Message(text: sentence, style: isError ? .red : .green)
  }

  // MARK: Keys

  /// What a key asks for; nil for what only changes the picture.
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
        message = Message(text: "nothing was done", style: .dim)
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
      // Until now it looked among the rows that had been read.
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

  /// At once, unless something is being done: it would stay half done.
  mutating func quit() -> Request? {
    if current == nil || isLeaving { return .quit }
    isLeaving = true
    message = Message(
      text: "\(message?.text ?? ""). Press q again to quit before it is finished", style: .yellow)
    return nil
  }

  mutating func show(_ pane: TopPane) -> Request? {
    self.pane = pane
    detail = nil
    return .read
  }

  /// Does at once or asks before, or says why there is nothing to do.
  mutating func act(_ letter: Character, _ now: ContinuousClock.Instant) -> Request? {
    // Without the shift key.
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

  /// Columns of the pane that there is room for.
  private var shownColumns: [Int] {
    let widths = TableLayout(pane.columns, [], width: size.columns).widths
    return widths.indices.filter { widths[$0] != nil }
  }

  /// Rows of a page.
  var page: Int { max(TopLayout(size).rows - 1, 1) }

  /// Scrolls the pane so that its cursor can be seen.
  package mutating func scroll() {
    let rows = TopLayout(size).rows
    change { $0.scroll(rows) }
    detail?.scroll(TopLayout(size).detailRows, columns: size.columns)
  }
}
