import JobModel
import JobQueue
package import Reports
import Terminal

/// Handles the list of jobs and the detail of one job.
extension TopModel {
  /// The data that the screen shows, which the reader must read: the rows of a list, or the detail of a job.
  package var query: TopQuery {
    TopQuery(
      pane: pane, search: search, detail: detail?.job.id, selected: list.selected?.subject.jobID)
  }

  /// Shows the result of a search for jobs. Ignores the result if another search is shown now.
  package mutating func load(
    _ page: TopPage, of search: TopSearch, at now: ContinuousClock.Instant
  ) {
    guard search == self.search else { return }
    load(page, of: .jobs, at: now)
    older = page.older
  }

  /// Shows the report of a job. If `report` is nil, shows that the job no longer exists.
  package mutating func load(_ report: JobReport?, of job: Int64) {
    guard detail?.job.id == job else { return }
    detail?.load(report)
    lists[pane]?.trouble = nil
  }

  /// Opens the row under the cursor: the detail of a job, or the list of the jobs that belong to the row. Returns nil if there is
  /// nothing to open.
  mutating func open() -> Request? {
    guard let subject = list.selected?.subject else { return nil }
    if case .job(let job) = subject {
      detail = TopDetail(job)
      return .read
    }
    guard let search = TopSearch(of: part, subject) else {
      message = Message(
        text: "Enter opens the jobs of a queue, host, batch or failure", style: .yellow)
      return nil
    }
    pane = .jobs
    change { $0.find("") }
    return look { $0 = search }
  }

  /// Changes the search for jobs with `body`, and returns the request to read the jobs. If `body` makes a difference, removes the
  /// shown jobs.
  mutating func look(_ body: (inout TopSearch) -> Void) -> Request? {
    let before = search
    body(&search)
    if search != before {
      older = nil
      change { $0.forget() }
    }
    return .read
  }

  /// Handles a key of the list of jobs. Returns the request, or nil if there is none.
  mutating func narrow(_ letter: Character) -> Request? {
    switch letter {
    case "f": return look { $0.nextState(1) }
    case "F": return look { $0.nextState(-1) }
    case "b", "o":
      guard let row = list.selected?.job else { return nil }
      return look { letter == "b" ? $0.toggle(batch: row.batch) : $0.toggle(host: row.host) }
    case ">":
      // The start of the next page is not known yet.
      if list.readAt == nil { return nil }
      guard let older else {
        message = Message(text: "no older jobs", style: .dim)
        return nil
      }
      return look { $0.goOn(before: older) }
    case "<":
      if search.pages.isEmpty {
        message = Message(text: "these are the newest jobs", style: .dim)
        return nil
      }
      return look { $0.goBack() }
    default: return nil
    }
  }

  mutating func pressInDetail(_ key: Key, _ now: ContinuousClock.Instant) -> Request? {
    let page = page
    switch key {
    case .escape, .enter, .left, .character("q"):
      detail = nil
      return .read
    case .character("?"), .character("h"): help()
    case .tab, .right: return show(pane.next(1))
    case .backTab: return show(pane.next(-1))
    case .character(let digit) where digit.wholeNumberValue.flatMap(TopPane.init) != nil:
      return digit.wholeNumberValue.flatMap(TopPane.init).flatMap { show($0) }
    case .up, .character("k"): detail?.move(-1)
    case .down, .character("j"): detail?.move(1)
    case .pageUp, .control("b"): detail?.move(-page)
    case .pageDown, .control("f"), .character(" "): detail?.move(page)
    case .home, .character("g"): detail?.move(.min / 2)
    case .end, .character("G"): detail?.move(.max / 2)
    case .character(let letter): return act(letter, now)
    default: break
    }
    return nil
  }
}

/// The detail of one job, and its scroll position. It has no side effects.
package struct TopDetail: Sendable {
  /// The job. At first, the job's data come from the row in the list, and later from the report.
  package private(set) var job: TopJob
  /// The report of the job; nil before it was read.
  package private(set) var report: JobReport?
  /// Whether the job is no longer in the pool.
  package private(set) var isGone = false
  /// The index of the first line on the screen.
  package private(set) var top = 0

  package init(_ job: TopJob) { self.job = job }

  var subject: TopSubject { .job(job) }

  mutating func load(_ report: JobReport?) {
    isGone = report == nil
    guard let report else { return }
    self.report = report
    job = TopJob(report.job.job, path: report.job.path, state: report.job.state)
  }

  mutating func move(_ lines: Int) { top += lines }

  /// Scrolls so that the lines fill `height` rows.
  mutating func scroll(_ height: Int, columns: Int) {
    let count = report?.lines(columns: columns).count ?? 0
    top = max(min(top, count - height), 0)
  }
}
