import Foundation
import JobModel
import Reports
import Terminal
import TestSupport
import Testing

@testable import JobQueue
@testable import Top

struct TopFrameTests {
  /// A file of this folder's Golden: what stands on the screen.
  private func golden(_ name: String) throws -> [String] {
    let file = repositoryRoot.appending(path: "Tests/TopTests/Golden/\(name).txt")
    let text = try String(contentsOf: file, encoding: .utf8)
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  private func frame(_ model: TopModel, at now: ContinuousClock.Instant = .sample) -> [StyledLine] {
    var model = model
    model.scroll()
    return TopFrame(model, at: now).lines
  }

  private func text(_ model: TopModel, at now: ContinuousClock.Instant = .sample) -> String {
    frame(model, at: now).map(\.text).joined(separator: "\n")
  }

  static let keys: [(name: String, keys: [Key])] = [
    ("running", []), ("queues", [.character("2")]), ("hosts", [.character("3"), .down]),
    ("workers", [.character("4"), .down]), ("batches", [.character("5")]),
    ("failures", [.character("6")]), ("jobs", [.character("7"), .down, .down]),
    ("help", [.character("?")]),
  ]

  @Test(arguments: keys, [(80, 24), (160, 45)])
  func `what a real terminal shows`(
    sample: (name: String, keys: [Key]), size: (columns: Int, rows: Int)
  ) async throws {
    var model = try Sample.model(size.columns, size.rows)
    for key in sample.keys { _ = model.press(key) }
    let pane = try await Pane(columns: size.columns, rows: size.rows)
    var screen = FullScreen(hasColors: true)
    // Something else stood there before.
    pane.write(
      screen.update(
        frame(try Sample.model(size.columns, size.rows)), columns: size.columns, rows: size.rows))
    pane.write(screen.update(frame(model), columns: size.columns, rows: size.rows))
    let name = "\(sample.name)-\(size.columns)"
    var wanted = try golden(name)
    while wanted.last == "" { wanted.removeLast() }
    try await pane.screen.wait(for: "the screen \(name)") { $0.rows == wanted }
  }

  @Test(arguments: [40, 41, 53, 60, 79, 80, 81, 100, 130, 160, 250])
  func `no line is wider than the screen and no frame higher`(columns: Int) throws {
    for rows in [10, 11, 24, 29, 30, 40, 60] {
      for pane in TopPane.allCases {
        var model = try Sample.model(columns, rows)
        _ = model.press(.character(Character("\(pane.rawValue)")))
        let lines = frame(model)
        #expect(lines.count == rows, "\(columns)x\(rows)")
        // The last says what can be done, and is cut where it is drawn.
        for line in lines.dropLast() {
          #expect(line.width <= columns, "\(columns)x\(rows): \(line.text)")
        }
      }
    }
  }

  @Test func `a window that is too small says so`() throws {
    #expect(text(try Sample.model(39, 24)).contains("too small"))
    #expect(text(try Sample.model(80, 9)).contains("too small"))
    #expect(!text(try Sample.model(40, 10)).contains("too small"))
  }

  @Test func `how fresh it is`() throws {
    var model = try Sample.model(80, 24)
    #expect(text(model).contains("maintenance: coordinator  14:22:07"))
    #expect(text(model, at: .sample + .seconds(6)).contains("no answer for 7s"))
    model.lose("gone", at: .sample)
    #expect(text(model, at: .sample + .seconds(9)).contains("connection lost 9s ago, retrying"))
    model.load(Sample.figures(rate: 1), at: .sample + .seconds(9))
    model.leader = .some(nil)
    #expect(text(model, at: .sample + .seconds(9)).contains("no maintenance  14:22:07"))
    #expect(text(TopModel()).contains("connecting"))
    #expect(text(TopModel()).contains("Reading."))
  }

  @Test func `a list that cannot be read says why, and an empty one that it is`() throws {
    var model = TopModel()
    model.fail("this needs the role haul_monitor.", of: .running)
    #expect(text(model).contains("this needs the role haul_monitor."))
    model.load([], of: .running, at: .sample)
    #expect(text(model).contains("No job is running."))
    model = try Sample.model(80, 24)
    model.fail("the database did not answer within 30s", of: .running)
    #expect(text(model).contains("stream") && text(model).contains("not answer within 30s"))
  }

  @Test func `what is too long for a line is told in the lines about the row`() throws {
    let long =
      "no job to resume: of the newest 1000 jobs, 994 are completed, 6 are failed; use 'haul retry' to queue jobs again"
    for columns in [80, 160] {
      var model = try Sample.model(columns, 24)
      model.finish(long, isError: true)
      let lines = frame(model).map(\.text)
      let shown = lines.suffix(5).joined(separator: " ").split(separator: " ").joined(
        separator: " ")
      #expect(shown.contains(long), "\(shown)")
      #expect(lines.last?.hasPrefix(columns == 80 ? "q quit" : "no job") == true)
    }
  }

  @Test func `no job runs because of a pause`() throws {
    var model = try Sample.model(80, 24)
    model.load([], of: .running, at: .sample)
    #expect(text(model).contains("No job is running."))
    model.waiting = PoolWaiting(jobs: 3, pausedQueue: "films")
    #expect(
      text(model).contains(
        "No job is running, because the queue films is paused. Press 2 to see the queues."))
    model.waiting = PoolWaiting(paused: 3)
    #expect(text(model).contains("because all remaining jobs are paused. Press 7 to see them."))
  }

  @Test func `a completed row has its size only`() throws {
    var row = Sample.transfers[0]
    #expect(row.topRow.detail.contains("512 MiB saved"))
    let end = try Sample.job(row.job, .completed, total: 1 << 20)
    row.end(end)
    #expect(!row.topRow.detail.contains("saved"))
    #expect(row.topRow.cells.contains { $0.text == "0 B" })
  }

  @Test func `a batch with paused jobs or under a paused queue says so`() throws {
    let rows: [BatchRow] = try Sample.decoded(Sample.batches)
    let end =
      ". The jobs that you have just submitted are not paused. To pause them too, run: haul pause --batch "
    #expect(rows[0].noteOnSubmission == "the batch monday is being paused\(end)monday")
    #expect(rows[1].noteOnSubmission == "25 jobs of the batch sunday are paused\(end)sunday")
    let text = Sample.batches.replacingOccurrences(
      of: #""steering": "pause""#, with: #""paused_queue": "films""#)
    let under: [BatchRow] = try Sample.decoded(text)
    #expect(under[0].noteOnSubmission == nil)
  }

  @Test(
    arguments: [
      (JobState.running, nil, false), (.queued, nil, false), (.scheduled, nil, true),
      (.failed, "dns", true),
    ] as [(JobState, String?, Bool)])
  func `advice is for the state that a job has now`(
    state: JobState, error: String?, isAdvised: Bool
  ) throws {
    let failed = AttemptRow(
      attempt: 1, token: 1, worker: 1, machine: nil, result: "failed", charged: true,
      startedAt: "", endedAt: "2026-11-21T15:30:13+00:00", seconds: 1, resumedAt: 0, fetched: 0,
      durable: 0, changes: 0, status: nil, error: "dns", message: "why")
    let report = JobReport(try Sample.job(5, state, error: error), attempts: [failed])
    #expect(report.text(on: Screen(width: 80)).contains("WHAT TO DO") == isAdvised)
  }

  @Test func `what is narrowed leaves out what is only known of the pool`() throws {
    let all = text(try Sample.model(80, 24))
    #expect(all.contains("files/s") && all.contains("  2 failures in 1 h\n"))
    let batch = text(try Sample.model(80, 24, part: .batch("monday")))
    #expect(!batch.contains("files/s") && !batch.contains("2 failures"))
    #expect(batch.contains("batch monday"))
  }

  @Test(arguments: [80, 100, 160])
  func `files of one name from two hosts and two directories do not look alike`(columns: Int) throws
  {
    var model = try Sample.model(columns, 24)
    let paths = ["mirror-a", "mirror-b"].flatMap { host in
      ["v1.2", "v1.3"].map { "\(host).example.org/debian/pool/\($0)/linux-image.deb" }
    }
    model.load(
      paths.enumerated().map { Sample.row(Int64($0), $1, 1, 2, 1).topRow }, of: .running,
      at: .sample)
    let shown = frame(model).compactMap { line in
      line.text.split(separator: "  ").first { $0.hasSuffix("e.deb") }.map(String.init)
    }
    #expect(Set(shown).count == 4, "\(shown)")
    if columns == 80 {
      #expect(
        shown == [
          "mirror-a…/v1.2/linux-image.deb", "mirror-a…/v1.3/linux-image.deb",
          "mirror-b…/v1.2/linux-image.deb", "mirror-b…/v1.3/linux-image.deb",
        ])
    }
  }

  @Test func `why a host is blocked has room on a narrow screen`() throws {
    for reason in ["operator", "rate_limited"] {
      var model = try Sample.model(80, 24)
      let host = """
        [{"host": "archive.example.org:8443", "running": 0, "cap": 2, "waiting": true, "why_idle": "blocked",
          "failures": 3, "blocked_until": "infinity", "block_reason": "\(reason)", "policy_cap": 8, "interval": 0,
          "burst": 1}]
        """
      model.load(try Sample.rows(host) { (row: HostRow) in row.topRow }, of: .hosts, at: .sample)
      for columns in [40, 80] {
        model.size = (columns, 24)
        _ = model.press(.character("3"))
        #expect(text(model).contains("  blocked: \(reason) "), "\(columns)")
      }
    }
  }

  @Test func `what is paused is told where nothing else waits`() throws {
    var model = try Sample.model(80, 24)
    model.waiting = PoolWaiting(paused: 20)
    #expect(text(model).contains("20 paused") && !text(model).contains(" waiting "))
    model.waiting = PoolWaiting(jobs: 1, paused: 20)
    #expect(text(model).contains("1 waiting  20 paused"))
  }

  @Test func `the head tells of workers that are missing or in trouble`() throws {
    var model = try Sample.model(80, 24)
    for (workers, words) in [
      (PoolWorkers(count: 3, troubled: 0), nil),
      (PoolWorkers(count: 0, troubled: 0), "no worker  maint"),
      (PoolWorkers(count: 1, troubled: 1), "1 of 1 worker in trouble  maint"),
      (PoolWorkers(count: 3, troubled: 2), "2 of 3 workers in trouble  maint"),
    ] {
      model.workers = workers
      let head = text(model).prefix { $0 != "\n" }
      #expect(words.map(head.contains) ?? !head.contains("worker"), "\(head)")
    }
  }

  @Test func `with ASCII alone`() throws {
    var model = try Sample.model(160, 45)
    model.load([Sample.row(1, "a", 1, 2, 1).topRow], of: .running, at: .sample)
    _ = model.press(.character("s"))
    model.scroll()
    let lines = TopFrame(model, at: .sample, hasUnicode: false).lines
    #expect(lines.allSatisfy { $0.text.utf8.allSatisfy { $0 < 0x80 } })
  }

  @Test(arguments: [
    (0.04, "0.0"), (0.25, "0.3"), (12.34, "12.3"), (99.96, "100"), (1234.5, "1234"),
  ])
  func `a decimal where it says something`(value: Double, text: String) {
    #expect(TopFrame.decimal(value) == text)
  }
}
