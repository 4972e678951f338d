package import JobModel
package import JobQueue

/// A search for jobs. The list of jobs shows its result. It has no side effects.
package struct TopSearch: Sendable, Hashable {
  /// The part of the pool that `haul top` watches.
  let part: PoolPart
  package private(set) var state: JobState?
  package private(set) var batch: String?
  package private(set) var queue: String?
  package private(set) var host: String?
  package private(set) var error: ErrorClass?
  /// The text that the path or the URL must contain; empty for any text.
  package private(set) var text = ""
  /// The pages that the user has opened after the first page; the last element is the current page. Each element is an upper
  /// bound: all jobs on that page have smaller ids.
  package private(set) var pages: [Int64] = []

  /// Creates a search for all jobs of `part`.
  package init(of part: PoolPart) {
    self.part = part
    switch part {
    case .all: break
    case .queue(let name): queue = name
    case .batch(let name): batch = name
    }
  }

  /// Creates a search for the jobs of `part` that belong to a row; nil for a row that has no list of jobs.
  package init?(of part: PoolPart, _ subject: TopSubject) {
    self.init(of: part)
    switch subject {
    case .job, .worker: return nil
    case .batch(let name): batch = name
    case .queue(let name): queue = name
    case .host(let name): host = name
    case .failures(let error, let host):
      state = .failed
      self.error = error
      self.host = host
    }
  }

  /// Whether the search shows the first page of all jobs of `part`.
  package var isAll: Bool { self == TopSearch(of: part) }

  /// The upper bound for ids on the current page, which shows only jobs with smaller ids.
  package var before: Int64 { pages.last ?? .max }

  package var selector: JobSelector {
    var selector = JobSelector()
    selector.state = state
    selector.batch = batch
    selector.queue = queue
    selector.host = host
    selector.error = error
    return selector
  }

  /// The conditions of the search as a text for people, without `part`, such as `failed, batch films`.
  package var words: String {
    let all = TopSearch(of: part)
    return [
      state?.rawValue, error?.rawValue,
      batch == all.batch ? nil : batch.map { "batch \($0)" },
      queue == all.queue ? nil : queue.map { "queue \($0)" }, host.map { "host \($0)" },
      text.isEmpty ? nil : "/\(text)",
    ].compactMap { $0 }.joined(separator: ", ")
  }

  /// The states, the most frequently wanted first.
  private static let states: [JobState?] = [
    nil, .running, .failed, .queued, .scheduled, .interrupted, .paused, .cancelled, .completed,
  ]

  /// Changes the search to jobs in the next state, or the previous one if `step` is negative. After the last state, the search
  /// is for jobs in any state.
  package mutating func nextState(_ step: Int) {
    let place = Self.states.firstIndex(of: state) ?? 0
    state = Self.states[(place + step + Self.states.count) % Self.states.count]
    if state != .failed { error = nil }
    pages = []
  }

  /// Limits the search to jobs of the batch `name`. If the search is already limited to a batch, removes that limit.
  package mutating func toggle(batch name: String?) {
    let whole = TopSearch(of: part).batch
    batch = batch == whole ? name ?? whole : whole
    pages = []
  }

  /// Limits the search to jobs of the host `name`. If the search is already limited to a host, removes that limit.
  package mutating func toggle(host name: String) {
    host = host == nil ? name : nil
    pages = []
  }

  /// Limits the search to jobs whose path or URL contains `text`.
  package mutating func find(_ text: String) {
    self.text = text
    pages = []
  }

  /// Opens the next page, with jobs whose ids are less than `job`.
  package mutating func goOn(before job: Int64) { pages.append(job) }

  /// Returns to the previous page. Does nothing on the first page.
  package mutating func goBack() { _ = pages.popLast() }

  /// Returns whether the row has the state and error class of the search. Does not check the text.
  package func admits(_ row: JobRow) -> Bool {
    (state == nil || row.state == state) && (error == nil || row.error == error)
  }
}

/// The data that the screen shows and that must be read.
package struct TopQuery: Sendable, Equatable {
  package var pane: TopPane
  package var search: TopSearch
  /// The job whose detail is shown instead of a list; nil if a list is shown.
  package var detail: Int64?
  /// The job under the cursor; nil if there is none.
  package var selected: Int64?

  /// Returns whether both queries read the same data.
  func reads(as other: TopQuery) -> Bool {
    pane == other.pane && detail == other.detail
      && (pane != .jobs || detail != nil || search == other.search)
  }
}

/// The rows of a list, as they were read.
package struct TopPage: Sendable {
  package var rows: [TopRow]
  /// The jobs that were on this page when it was last read, but have ended or changed their state since.
  package var left: [TopRow]
  /// Whether the database has more rows than this page.
  package var isCut: Bool
  /// The upper bound for the ids on the next page of jobs; nil if there is no next page.
  package var older: Int64?

  package init(
    _ rows: [TopRow], left: [TopRow] = [], isCut: Bool = false, older: Int64? = nil
  ) {
    self.rows = rows
    self.left = left
    self.isCut = isCut
    self.older = older
  }
}
