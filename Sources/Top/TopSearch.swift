package import JobModel
package import JobQueue

/// Which jobs the list of jobs shows. Pure.
package struct TopSearch: Sendable, Hashable {
  /// The part of the pool that is watched.
  let part: PoolPart
  package private(set) var state: JobState?
  package private(set) var batch: String?
  package private(set) var queue: String?
  package private(set) var host: String?
  package private(set) var error: ErrorClass?
  /// A part of the path or of the URL.
  package private(set) var text = ""
  /// The pages that were gone through: each shows jobs below its id, and the last is shown now.
  package private(set) var pages: [Int64] = []

  /// All jobs of `part`.
  package init(of part: PoolPart) {
    self.part = part
    switch part {
    case .all: break
    case .queue(let name): queue = name
    case .batch(let name): batch = name
    }
  }

  /// Jobs of `part` that belong to a row; nil for a row that has no list of jobs.
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

  /// Whether nothing narrows it but the part of the pool, and its first page is shown.
  package var isAll: Bool { self == TopSearch(of: part) }

  /// Jobs of the page have ids below this one.
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

  /// What narrows it, beyond the part of the pool, for people: `failed, batch films`.
  package var words: String {
    let all = TopSearch(of: part)
    return [
      state?.rawValue, error?.rawValue,
      batch == all.batch ? nil : batch.map { "batch \($0)" },
      queue == all.queue ? nil : queue.map { "queue \($0)" }, host.map { "host \($0)" },
      text.isEmpty ? nil : "/\(text)",
    ].compactMap { $0 }.joined(separator: ", ")
  }

  /// Those that a person asks for most come first.
  private static let states: [JobState?] = [
    nil, .running, .failed, .queued, .scheduled, .interrupted, .paused, .cancelled, .completed,
  ]

  /// Only jobs in the next state, or in the one before; after the last state, all.
  package mutating func nextState(_ step: Int) {
    let place = Self.states.firstIndex(of: state) ?? 0
    state = Self.states[(place + step + Self.states.count) % Self.states.count]
    if state != .failed { error = nil }
    pages = []
  }

  /// Only jobs of that batch, or of any again where it is that one already.
  package mutating func toggle(batch name: String?) {
    let whole = TopSearch(of: part).batch
    batch = batch == whole ? name ?? whole : whole
    pages = []
  }

  /// Only jobs of that host, or of any again where one is chosen already.
  package mutating func toggle(host name: String) {
    host = host == nil ? name : nil
    pages = []
  }

  /// Only jobs whose path or URL contains it.
  package mutating func find(_ text: String) {
    self.text = text
    pages = []
  }

  /// The page of jobs below that id.
  package mutating func goOn(before job: Int64) { pages.append(job) }

  /// The page before; nothing where the first is shown.
  package mutating func goBack() { _ = pages.popLast() }

  /// Everything that a row must have to be found; not the text.
  package func admits(_ row: JobRow) -> Bool {
    (state == nil || row.state == state) && (error == nil || row.error == error)
  }
}

/// What is on the screen, and so is to be read.
package struct TopQuery: Sendable, Equatable {
  package var pane: TopPane
  package var search: TopSearch
  /// The job whose detail is shown instead of the pane.
  package var detail: Int64?
  /// The job that the cursor is on.
  package var selected: Int64?

  /// Whether the same is to be read for both.
  func reads(as other: TopQuery) -> Bool {
    pane == other.pane && detail == other.detail
      && (pane != .jobs || detail != nil || search == other.search)
  }
}

/// Rows of a pane as they were read.
package struct TopPage: Sendable {
  package var rows: [TopRow]
  /// Jobs that the last page had, and that are no longer on it since they ended or changed their state.
  package var left: [TopRow]
  /// Whether there are more rows than these.
  package var isCut: Bool
  /// Where the next page of a list of jobs begins.
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
