import JobModel
import JobQueue
import Terminal
import TestSupport
import Testing

@testable import Top

struct TopModelTests {
  private func model() throws -> TopModel { try Sample.model(80, 24) }

  private func jobs(_ model: TopModel) -> [Int64] {
    model.list.shown.compactMap { row in
      row.subject.jobID
    }
  }

  @discardableResult
  private func type(_ keys: String, _ model: inout TopModel) -> TopModel.Request? {
    var last: TopModel.Request?
    for key in keys { last = model.press(.character(key)) }
    return last
  }

  @Test func `keys choose the list, round and round`() throws {
    var model = try model()
    let requests = [Key.character("3"), .tab, .right, .backTab, .left].map { model.press($0) }
    #expect(requests == Array(repeating: .read, count: 5))
    #expect(model.pane == .hosts)
    _ = model.press(.character("7"))
    _ = model.press(.tab)
    #expect(model.pane == .running)
    _ = model.press(.left)
    #expect(model.pane == .jobs)
    #expect(model.press(.character("8")) == nil)
    #expect(model.pane == .jobs)
  }

  @Test func `the cursor moves within the rows, and stays on its row when others come`() throws {
    var model = try model()
    _ = model.press(.up)
    #expect(model.list.cursor == 0)
    type("jj", &model)
    #expect(
      model.list.selected?.subject
        == .job(TopJob(103, path: Sample.transfers[2].path, state: .running)))
    model.load(Sample.transfers.reversed().map(\.topRow), of: .running, at: .sample)
    #expect(model.list.cursor == 2)
    model.load(
      [Sample.row(99, "new", 0, nil, 0)].map(\.topRow) + Sample.transfers.map(\.topRow),
      of: .running, at: .sample)
    #expect(model.list.cursor == 3)
    // It has ended: the cursor stays where it is.
    model.load(Sample.transfers.filter { $0.job != 103 }.map(\.topRow), of: .running, at: .sample)
    #expect(model.list.selected?.subject == .job(TopJob(105, path: "stream", state: .running)))
    model.load([], of: .running, at: .sample)
    #expect(model.list.selected == nil)
    for key in [Key.end, .pageUp, .pageDown, .home, .down] { _ = model.press(key) }
    #expect(model.list.cursor == 0)
  }

  @Test func `pages are what the screen shows`() throws {
    var model = try model()
    let many = (1...100).map { Sample.row($0, "f\($0)", 0, nil, 0).topRow }
    model.load(many, of: .running, at: .sample)
    _ = model.press(.pageDown)
    model.scroll()
    #expect(model.list.cursor == 14)
    #expect(model.list.top == 0)
    _ = model.press(.down)
    model.scroll()
    #expect(model.list.top == 1)
    _ = model.press(.end)
    model.scroll()
    #expect(model.list.cursor == 99 && model.list.top == 85)
    model.size = (80, 60)
    model.scroll()
    #expect(model.list.top == 52)
    _ = model.press(.home)
    model.scroll()
    #expect(model.list.top == 0)
  }

  @Test func `a key goes through the columns, numbers from the greatest`() throws {
    var model = try Sample.model(240, 24)
    #expect(jobs(model) == [101, 102, 103, 104, 105])
    type("s", &model)
    #expect(jobs(model) == [105, 104, 103, 102, 101])
    type("i", &model)
    #expect(jobs(model) == [101, 102, 103, 104, 105])
    type("s", &model)
    #expect(model.list.order == .init(column: 1, isDescending: false))
    #expect(jobs(model) == [102, 104, 101, 105, 103])
    type("ssss", &model)
    #expect(jobs(model) == [101, 103, 102, 105, 104])
    type("SSSSSS", &model)
    #expect(model.list.order == nil)
    type("S", &model)
    #expect(model.list.order?.column == TopPane.running.columns.count - 1)
    #expect(jobs(model) == [101, 102, 104, 105, 103])
  }

  @Test func `only by a column that is shown can be sorted`() throws {
    var model = try model()
    type("s", &model)
    #expect(model.list.order?.column == 1)
    type("SS", &model)
    #expect(model.list.order?.column == 6)
  }

  @Test func `a filter is typed, kept, taken back and taken away`() throws {
    var model = try model()
    type("/DEB", &model)
    #expect(model.mode == .filter(before: ""))
    #expect(jobs(model) == [101, 102])
    // Letters are text while it is typed.
    type("q", &model)
    #expect(jobs(model) == [])
    _ = model.press(.backspace)
    _ = model.press(.enter)
    #expect(model.mode == .list && model.list.filter == "DEB")
    type("/x", &model)
    _ = model.press(.escape)
    #expect(model.list.filter == "DEB")
    model.load(Sample.transfers.map(\.topRow), of: .running, at: .sample)
    #expect(jobs(model) == [101, 102])
    _ = model.press(.escape)
    #expect(model.list.filter == "" && jobs(model).count == 5)
    // What a table has left out is found, too.
    type("/attempt 3", &model)
    #expect(jobs(model) == [102])
  }

  @Test func `what loses something is asked, and only y does it`() throws {
    for (answer, request) in [
      (Key.character("y"), TopModel.Request.perform(cancel)), (.character("Y"), .perform(cancel)),
      (.character("n"), nil), (.enter, nil), (.escape, nil), (.character("q"), nil),
    ] {
      var model = try model()
      #expect(type("c", &model) == nil)
      #expect(model.mode == .question(cancel))
      #expect(model.press(answer) == request)
      #expect(model.mode == .list)
      #expect(model.current == (request == nil ? nil : cancel))
    }
  }

  private let cancel = TopAction(
    verb: .cancel, subject: .job(TopJob(101, path: Sample.transfers[0].path, state: .running)))

  @Test func `one thing is done at a time, and its end is told`() throws {
    var model = try model()
    #expect(type("p", &model) != nil)
    #expect(type("p", &model) == nil)
    model.count(1200)
    #expect(model.message?.text == "1200 jobs paused so far")
    model.finish("1 job paused", isError: false)
    #expect(model.message == .init(text: "1 job paused", style: .green))
    #expect(type("j", &model) == nil)
    #expect(model.message == nil)
    #expect(type("p", &model) != nil)
  }

  @Test func `to quit while something is done takes two keys`() throws {
    var model = try model()
    type("p", &model)
    #expect(type("q", &model) == nil)
    #expect(type("q", &model) == .quit)
    model = try self.model()
    #expect(type("q", &model) == .quit)
  }

  @Test func `help and redraw`() throws {
    var model = try model()
    type("?", &model)
    #expect(model.mode == .help)
    #expect(type("q", &model) == nil)
    #expect(model.mode == .list)
    #expect(model.press(.control("l")) == .redraw)
  }

  @Test func `bytes a second are as reported, files a second measured`() {
    var model = TopModel()
    for second in 0...10 {
      let figures = PoolFigures(
        running: 2, rate: 1000, completed: Int64(second * 3), failed: 0, time: "")
      model.load(figures, at: .sample + .seconds(second))
    }
    #expect(model.rate == 1000)
    #expect(model.filesRate == 3)
    #expect(model.rates == Array(repeating: 1000, count: 11))
  }

  @Test func `who may not is told before anything is asked`() throws {
    for (rights, keys, role) in [
      (
        DatabaseFacts.Rights(work: false, submit: false, watch: true, administer: false), "c",
        "haul_submitter"
      ),
      (.init(work: false, submit: true, watch: true, administer: false), "4d", "haul_admin"),
    ] {
      var model = try Sample.model(80, 24, may: rights)
      #expect(type(keys, &model) == nil)
      #expect(model.mode == .list && model.current == nil)
      #expect(model.message?.text == "this action needs the role \(role)")
    }
  }
}

struct TopActionTests {
  private static let job = TopSubject.job(TopJob(12, path: "a/b.iso", state: .running))
  private static let done = TopSubject.job(TopJob(13, path: "a/c.iso", state: .completed))
  private static let worker = TopSubject.worker(7, name: "worker 7 (host-a, pid 1)", running: 1)
  private static let failures = TopSubject.failures(error: "tls", host: "h")

  /// What each key means for each kind of row: nothing, at once, or a question.
  static let table: [(subject: TopSubject, key: Character, question: String??)] = [
    (job, "p", .some(nil)), (job, "u", .some(nil)), (job, "c", "Cancel job 12 (a/b.iso)?"),
    (job, "r", nil), (job, "d", nil), (job, "v", nil), (done, "v", .some(nil)), (done, "c", nil),
    (.queue("q"), "v", nil), (.batch("b"), "v", nil), (worker, "v", nil), (failures, "v", nil),
    (.queue("q"), "p", .some(nil)), (.queue("q"), "u", .some(nil)),
    (.queue("q"), "c", "Cancel all jobs of queue q that have not ended?"),
    (.queue("q"), "r", "Retry all jobs of queue q that failed?"), (.queue("q"), "d", nil),
    (.host("h"), "p", .some(nil)), (.host("h"), "u", .some(nil)),
    (.host("h"), "c", "Cancel all jobs of host h that have not ended?"),
    (.host("h"), "r", "Retry all jobs of host h that failed?"), (.host("h"), "d", nil),
    (.batch("b"), "p", .some(nil)), (.batch("b"), "u", .some(nil)),
    (.batch("b"), "c", "Cancel all jobs of batch b that have not ended?"),
    (.batch("b"), "r", "Retry all jobs of batch b that failed?"), (.batch("b"), "d", nil),
    (worker, "p", nil), (worker, "u", nil), (worker, "c", nil), (worker, "r", nil),
    (worker, "d", "Drain worker 7 (host-a, pid 1)? It stops and hands over 1 running job."),
    (failures, "p", nil), (failures, "u", nil), (failures, "c", nil), (failures, "d", nil),
    (failures, "r", "Retry all jobs that failed with tls on h?"),
  ]

  @Test(arguments: table)
  func `a key on a row`(subject: TopSubject, key: Character, question: String??) throws {
    let verb = try #require(TopAction.Verb(rawValue: key))
    switch TopAction.meaning(of: verb, for: subject) {
    case .hint(let hint):
      #expect(question == nil, "\(key) on \(subject)")
      #expect(!hint.isEmpty)
    case .action(let action):
      #expect(action == TopAction(verb: verb, subject: subject))
      #expect(.some(action.question) == question, "\(key) on \(subject)")
    }
  }

  @Test func `keys that the bottom line shows do something`() throws {
    let subjects: [TopPane: TopSubject] = [
      .queues: .queue("q"), .hosts: .host("h"), .workers: Self.worker,
      .batches: .batch("b"),
      .failures: Self.failures,
    ]
    for pane in TopPane.allCases {
      let states = JobState.known.map { TopSubject.job(TopJob(12, path: "a", state: $0)) }
      for (verb, _) in pane.verbs {
        let acts = (subjects[pane].map { [$0] } ?? states).contains { subject in
          if case .action = TopAction.meaning(of: verb, for: subject) { true } else { false }
        }
        #expect(acts, "\(verb) in \(pane)")
      }
    }
  }
}
