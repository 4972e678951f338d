import HaulTransfer
import JobModel
import Reports
import Terminal
import TestSupport
import Testing

@testable import JobQueue
@testable import Submitting

/// How jobs and their attempts look on a terminal of 80 columns.
struct JobListTests {
  private static let attempt = AttemptRow(
    attempt: 12, token: 123_456_789, worker: 12_345, machine: "downloads-17.example.org",
    result: "completed", charged: true, startedAt: "2026-11-21T15:30:12.123456+00:00",
    endedAt: "2026-11-21T15:30:13+00:00", seconds: 123_456, resumedAt: 1 << 40, fetched: 1 << 50,
    durable: 0, changes: 0, status: 503, error: "http_5xx",
    message: "the server answers 503 Service Unavailable and \u{1b}[2J asks to come back later")

  @Test(
    arguments: [
      (["completed"], false, "1 job is completed"),
      (["paused", "paused", "failed"], false, "2 jobs are paused, 1 is failed"),
      (["running", "running"], true, "of the newest 2 jobs, 2 are running"),
      (["running", "paused", "running"], true, "of the newest 3 jobs, 2 are running, 1 is paused"),
    ] as [([JobState], Bool, String)])
  func `why nothing happened to jobs`(states: [JobState], isCut: Bool, reason: String) {
    #expect(
      JobAction.pause.futility(states, isCut: isCut) == "no job to pause: \(reason)")
  }

  @Test(
    arguments: [
      ([], "no job matches the selectors"),
      (["failed"], "1 job is failed; use 'haul retry' to queue failed jobs again"),
      (["paused"], "1 job is paused; use 'haul resume' to resume paused jobs"),
      (["running"], "1 job is running"),
    ] as [([JobState], String)])
  func `why no cancellation was undone`(states: [JobState], reason: String) {
    #expect(
      JobAction.retry.futility(states, isUndo: true) == "no cancellation to undo: \(reason)")
  }

  @Test func `attempts fit, with what went wrong below`() {
    let table = Listing(AttemptRow.columns, note: AttemptRow.failure)
      .table([Self.attempt], on: Screen(width: 80))
    let lines = table.split(separator: "\n").map(String.init)
    #expect(lines.allSatisfy { DisplayWidth.of($0) <= 80 })
    #expect(lines[1].contains("2026-11-21 15:30:12  1d10h  completed"))
    #expect(
      lines[2] == "      http_5xx (503): the server answers 503 Service Unavailable and \\u001b[2J")
    #expect(!table.contains("…"))
  }

  @Test(
    arguments: [
      ("failed", false, "dns", " (not counted: the host had a problem)"),
      ("failed", false, "proxy", " (not counted: the worker had a problem)"),
      ("failed", false, "http_404", " (not counted: Haul retried the job later)"),
      ("failed", false, "http_5xx", " (not counted)"), ("failed", true, "http_5xx", ""),
      ("released", false, "io", ""),
    ] as [(AttemptResult, Bool, ErrorClass, String)])
  func `an attempt that does not count says why`(
    result: AttemptResult, charged: Bool, error: ErrorClass, reason: String
  ) {
    let row = AttemptRow(
      attempt: 1, token: 1, worker: 1, machine: nil, result: result, charged: charged,
      startedAt: "", endedAt: "2026-11-21T15:30:13+00:00", seconds: 1, resumedAt: 0, fetched: 0,
      durable: 0, changes: 0, status: nil, error: error, message: "why")
    #expect(AttemptRow.note(row) == "\(error): why\(reason)")
  }

  @Test func `programs get all of an attempt`() {
    let json = Listing(AttemptRow.columns + AttemptRow.moreColumns).json(Self.attempt)
    for key in ["machine", "token", "ended_at", "charged", "durable", "changes", "status", "error"]
    {
      #expect(json.contains("\"\(key)\":"))
    }
    #expect(json.contains(#""started_at":"2026-11-21T15:30:12.123456+00:00""#))
  }

  @Test(arguments: [
    ("http://[h/a", "http://[h/a"), ("ftp://me:hunter2@h/a", "…@h/a"),
    ("http://a@b:c@[h", "…@[h"), ("x?sig=secret", "x?…"), ("http://me:p?w@h", "…@h"),
    ("http:// me:pw@h/?a@b", "…@b"),
    ("http://\u{1b}", #"http://\u001b"#),
  ])
  func `a text that is no URL is shown without what may be secret`(text: String, shown: String) {
    #expect(SubmissionReader.shown(text) == shown)
  }

  @Test(arguments: [
    ("example.org/a.iso", "https://example.org/a.iso"), ("example.org", "https://example.org"),
    ("localhost:8080/a", "https://localhost:8080/a"), ("127.0.0.1/a", "https://127.0.0.1/a"),
    ("example.org/a?sig=secret", "https://example.org/a?…"), ("me:pw@example.org/a", nil),
    ("ftp://example.org/a", nil), ("./a.iso", nil), ("/srv/a.iso", nil), ("films", nil), ("", nil),
  ])
  func `a URL that lacks its scheme is completed`(text: String, url: String?) {
    #expect(SubmissionReader.completed(text) == url)
  }
}
