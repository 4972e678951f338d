import Testing

@testable import Postgres

/// What is decided without a server.
@Suite struct DecisionTests {
  private let start = ContinuousClock.now

  @Test func `a call over its deadline is cancelled once and then given up`() {
    var watch = CallWatch(deadline: start + .seconds(10))
    #expect(watch.check(now: start + .seconds(9), isCancelled: false) == .none)
    #expect(watch.nextCheck == start + .seconds(10))
    #expect(watch.check(now: start + .seconds(10), isCancelled: false) == .requestCancel)
    #expect(watch.reason == .timeout)
    #expect(watch.check(now: start + .seconds(11), isCancelled: true) == .none)
    #expect(watch.reason == .timeout)
    #expect(watch.check(now: watch.nextCheck, isCancelled: false) == .giveUp)
  }

  @Test func `a cancelled call is cancelled before its deadline`() {
    var watch = CallWatch(deadline: start + .seconds(10))
    #expect(watch.check(now: start, isCancelled: true) == .requestCancel)
    #expect(watch.reason == .cancellation)
    #expect(watch.nextCheck > start)
  }

  @Test func `waits grow to the limit and no further`() {
    var backoff = Backoff(first: .milliseconds(50), limit: .milliseconds(150))
    for bound in [50, 100, 150, 150] {
      let wait = backoff.next()
      #expect(wait >= .zero && wait <= .milliseconds(bound))
    }
    backoff.reset()
    #expect(backoff.next() <= .milliseconds(50))
  }

  @Test(arguments: [
    (#"... failed: FATAL:  28P01: password authentication failed for user "x""#, "28P01"),
    (
      "... failed: FATAL:  3D000: base inconnue\nEMPLACEMENT:  InitPostgres, postinit.c:886",
      "3D000"
    ),
    // With TLS and without.
    (
      "failed: FATAL:  28P01: password authentication failed\nfailed: FATAL:  28000: no pg_hba.conf entry",
      "28P01"
    ),
    ("connection refused", nil),
  ])
  func `the code of a refusal is read from libpq's message`(message: String, code: String?) {
    #expect(Handshake.sqlState(inVerbose: message)?.rawValue == code)
    #expect(!PostgresError.oneLine(message).contains("postinit"))
    if let code { #expect(!Handshake.withoutStates(message).contains(code)) }
  }
}

struct UnreadableFileTests {
  @Test(arguments: [
    ("nonexistent", "Q", "No such file or directory"),
    ("/nonexistent", "\u{fffd}Q\nB\u{7f}", "No such file or directory"),
    ("/", "Q\nB", "Is a directory"),
    ("/etc/passwd", "no start line", "no start line"),
  ])
  func `why a file cannot be read is asked of the system`(
    path: String, told: String, reason: String
  ) {
    let sentence = "connection to server failed: could not load private key file \"\(path)\": "
    #expect(Handshake.withReasons(sentence + told) == sentence + reason)
  }
}

struct ServersReasonTests {
  @Test func `what the server says of its own files stays`() {
    let sentence = "FATAL: could not open file \"/nonexistent\": Permission denied"
    #expect(Handshake.withReasons(sentence) == sentence)
  }
}

struct MessageThrottleTests {
  @Test func `one reason is told once in half a minute, another at once`() {
    let start = ContinuousClock.now
    var told = MessageThrottle()
    let news = [("away", 0), ("away", 29), ("full", 29), ("away", 30), ("away", 59), ("away", 60)]
      .map { reason, second in told.isNews(reason, at: start + .seconds(second)) }
    #expect(news == [true, false, true, true, false, true])
  }
}
