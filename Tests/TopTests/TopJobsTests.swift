import JobModel
import JobQueue
import Reports
import Terminal
import Testing

@testable import Top

/// The list of jobs: what it searches for, and what keys do to its rows.
struct TopJobsTests {
  private func type(_ keys: String, _ model: inout TopModel) -> TopModel.Request? {
    var last: TopModel.Request?
    for key in keys { last = model.press(key == "\r" ? .enter : .character(key)) }
    return last
  }

  private func model(_ rows: [JobRow], of part: PoolPart = .all) -> TopModel {
    var model = TopModel(part: part)
    model.identify(PoolContext(database: "pool", minute: "", may: Sample.everything))
    _ = model.press(.character("7"))
    model.load(TopPage(rows.map(\.topRow)), of: model.search, at: .sample)
    return model
  }

  /// What keys make of a search; the cursor is on a job of the batch `films` and the host `h.test`.
  static let searches: [(part: PoolPart, keys: String, words: String)] = [
    (.all, "", ""), (.all, "f", "running"), (.all, "ff", "failed"), (.all, "F", "completed"),
    (.all, "fffffffff", ""), (.all, "fF", ""), (.all, "b", "batch films"), (.all, "bb", ""),
    (.all, "o", "host h.test"), (.all, "/iso\r", "/iso"), (.all, "/iso", ""),
    (.batch("films"), "", ""), (.batch("films"), "b", ""), (.batch("films"), "f", "running"),
    (.queue("data"), "b", "batch films"), (.all, ">", "older than job 5"),
  ]

  @Test(arguments: searches)
  func `keys narrow the list`(part: PoolPart, keys: String, words: String) throws {
    var model = TopModel(part: part)
    _ = model.press(.character("7"))
    let row = try Sample.job(5, .queued, batch: "films").topRow
    for key in keys {
      // The rows of the search before are there again.
      model.load(TopPage([row], isCut: true, older: 5), of: model.search, at: .sample)
      _ = model.press(key == "\r" ? .enter : .character(key))
    }
    let page = model.search.pages.last.map { "older than job \($0)" }
    #expect(page ?? model.search.words == words)
    #expect(page == nil || page == words)
  }

  @Test func `another search forgets the rows, and the cursor finds its job again`() throws {
    let rows = try (1...3).map { try Sample.job($0, $0 == 2 ? .running : .queued) }
    var model = model(rows)
    _ = model.press(.down)
    let before = model.search
    #expect(type("f", &model) == .read)
    #expect(model.list.rows.isEmpty && model.list.readAt == nil)
    // What was asked before comes too late.
    model.load(TopPage(rows.map(\.topRow)), of: before, at: .sample)
    #expect(model.list.rows.isEmpty)
    model.load(TopPage([rows[0].topRow, rows[1].topRow]), of: model.search, at: .sample)
    #expect(model.list.selected?.subject.jobID == 2)
    // Nothing took the place of anything: a key is meant for it.
    #expect(model.press(.character("p"), at: .sample) != nil)
  }

  @Test func `pages go on below the last job looked at, and back`() throws {
    var model = model([])
    #expect(type(">", &model) == nil)
    #expect(model.message?.text == "no older jobs")
    model.load(TopPage([], isCut: true, older: 700), of: model.search, at: .sample)
    #expect(type(">", &model) == .read)
    #expect(model.search.before == 700)
    // The page is not there yet.
    #expect(type(">", &model) == nil && model.message == nil)
    model.load(TopPage([], isCut: true, older: 400), of: model.search, at: .sample)
    _ = type(">", &model)
    #expect(model.search.before == 400)
    _ = type("<", &model)
    #expect(model.search.before == 700)
    _ = type("<", &model)
    #expect(model.search.before == .max)
    #expect(type("<", &model) == nil)
    #expect(model.message?.text == "these are the newest jobs")
  }

  @Test func `Esc shows all jobs of the part again`() throws {
    for part in [PoolPart.all, .batch("films")] {
      var model = model([try Sample.job(5, .queued, batch: "films")], of: part)
      _ = type("fo/iso\r", &model)
      #expect(!model.search.isAll)
      _ = model.press(.escape)
      #expect(model.search == TopSearch(of: part) && model.list.filter == "")
    }
  }

  /// Enter on the row of a pane: the words of the search that it opens, nil where it opens none.
  static let opened: [(pane: Character, words: String?)] = [
    ("2", "queue data"), ("3", "host mirror.example.org"), ("4", nil), ("5", "batch monday"),
    ("6", "failed, http_4xx, host mirror.example.org"),
  ]

  @Test(arguments: opened)
  func `Enter opens the jobs of a row`(pane: Character, words: String?) throws {
    var model = try Sample.model(80, 24)
    _ = type("7f", &model)
    _ = type("\(pane)", &model)
    let before = model.pane
    #expect(type("\r", &model) == (words == nil ? nil : .read))
    #expect(model.pane == (words == nil ? before : .jobs))
    #expect(model.search.words == words ?? "running")
  }

  @Test func `Enter opens a job, and its keys act on it until Esc`() throws {
    for pane in ["1", "7"] {
      var model = try Sample.model(80, 24)
      _ = type(pane, &model)
      let job = try #require(model.list.selected?.subject.jobID)
      #expect(type("\r", &model) == .read)
      #expect(model.query.detail == job)
      // A row that comes under the cursor meanwhile is not what is shown.
      model.load([], of: model.pane, at: .sample)
      #expect(type("c", &model) == nil)
      guard case .question(let action) = model.mode else {
        Issue.record("no question")
        return
      }
      #expect(action.subject.jobID == job)
      #expect(type("n", &model) == nil && model.detail != nil)
      #expect(model.press(.escape) == .read)
      #expect(model.detail == nil && model.query.detail == nil)
    }
  }

  @Test func `the state of an open job is the one that was read last`() throws {
    var model = model([try Sample.job(5, .running)])
    _ = type("\r", &model)
    model.load(JobReport(try Sample.job(5, .completed), attempts: []), of: 5)
    #expect(type("c", &model) == nil && model.mode == .list)
    #expect(model.message?.text.hasPrefix("job 5 is completed, but c works only on") == true)
    // A report of another job comes too late.
    model.load(nil, of: 6)
    #expect(model.detail?.isGone == false)
    model.load(nil, of: 5)
    #expect(model.detail?.isGone == true)
  }

  /// Which keys act on a job in each state.
  static let verbs: [(state: JobState, keys: String)] = [
    (.queued, "pc+-"), (.interrupted, "pc+-"), (.scheduled, "pcr+-"), (.running, "puc+-"),
    (.paused, "uc+-"), (.completed, ""), (.failed, "r"), (.cancelled, "r"),
    // Of a newer database.
    (JobState(rawValue: "resting"), ""),
  ]

  @Test(arguments: verbs)
  func `a key on a job`(state: JobState, keys: String) throws {
    for key in "pucr+-" {
      let verb = try #require(TopAction.Verb(rawValue: key))
      let subject = TopSubject.job(TopJob(12, path: "a", state: state))
      switch TopAction.meaning(of: verb, for: subject) {
      case .action(let action):
        #expect(keys.contains(key), "\(key)")
        #expect((action.question != nil) == (key == "c"))
      case .hint(let hint):
        #expect(!keys.contains(key), "\(key)")
        #expect(hint.hasPrefix("job 12 is \(state), but \(key) works only on "), "\(hint)")
      }
    }
  }

  @Test func `what a job's key is for is named`() {
    let job = TopSubject.job(TopJob(12, path: "a", state: .running))
    #expect(
      TopAction.meaning(of: .retry, for: job)
        == .hint("job 12 is running, but r works only on failed, cancelled and scheduled jobs"))
  }

  /// What the list of running jobs shows of one that has ended: instead of its bytes, and of its rate.
  static let endings: [(state: JobState, error: String?, bytes: String, rate: String)] = [
    (.completed, nil, "0 B", "completed"), (.failed, "http_4xx", "http_4xx", "failed"),
    (.cancelled, nil, "0.0/9.0 MiB", "cancelled"), (.paused, nil, "0.0/9.0 MiB", "paused"),
  ]

  @Test(arguments: endings)
  func `a running job that ends shows how`(
    state: JobState, error: String?, bytes: String, rate: String
  ) throws {
    var row = Sample.row(5, "a", 4 << 20, 9 << 20, 1 << 20)
    row.end(try Sample.job(5, state, total: 9 << 20, error: error))
    let texts = row.topRow.cells.map(\.text)
    #expect(texts.contains(bytes) && texts.contains(rate), "\(texts)")
    #expect(row.topRow.subject == .job(TopJob(5, path: "a", state: state)))
    #expect(row.topRow.detail.contains(error.map { "\(state) with \($0)" } ?? "\(state)"))
  }

  /// What the line of lists says at its right end.
  static let extents: [(keys: String, isCut: Bool, extent: String)] = [
    ("", false, "7 Jobs"), ("", true, "the newest 2, > older"), ("f", false, "running: 2"),
    ("f", true, "running: the newest 2, > older"), (">", true, "older than job 2: 2, > older"),
    (">", false, "older than job 2: 2"), ("/ath/1", false, "1 of 2"), ("/ath\r", false, "/ath: 2"),
  ]

  @Test(arguments: extents)
  func `which jobs are shown is said`(keys: String, isCut: Bool, extent: String) throws {
    var model = TopModel()
    model.size = (80, 24)
    _ = model.press(.character("7"))
    let rows = try [2, 1].map { try Sample.job($0, .running).topRow }
    model.load(TopPage(rows, isCut: true, older: 2), of: model.search, at: .sample)
    _ = type(keys, &model)
    model.load(TopPage(rows, isCut: isCut, older: isCut ? 1 : nil), of: model.search, at: .sample)
    let line = TopFrame(model, at: .sample).lines[3].text
    #expect(line.trimmed.hasSuffix(extent), "\(line)")
    #expect(line.contains("7 Jobs"))
  }
}

extension String {
  fileprivate var trimmed: String { String(reversed().drop { $0 == " " }.reversed()) }
}
