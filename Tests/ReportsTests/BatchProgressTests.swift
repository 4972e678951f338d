import Foundation
import HaulSystem
import JobQueue
import Terminal
import Testing

@testable import Reports

private func decoded<Row: Decodable>(_ json: String) throws -> [Row] {
  try JSONDecoder().decode([Row].self, from: Data(json.utf8))
}

struct BatchProgressTests {
  private let start = ContinuousClock.now

  @Test func `bytes are those of finished files and running ones, and never go back`() throws {
    var progress = BatchProgress()
    progress.count(
      try decoded(
        """
        [{"state": "completed", "jobs": 2, "bytes": 100}, {"state": "running", "jobs": 2, "bytes": 9},
         {"state": "failed", "error": "dns", "jobs": 1, "bytes": 9}, {"state": "cancelled", "jobs": 1, "bytes": 0}]
        """))
    progress.look(
      try decoded(
        """
        [{"job": 1, "path": "a", "bytes": 10, "total": 50, "rate": 4},
         {"job": 2, "path": "b", "bytes": 20, "total": 50, "rate": 1}]
        """), at: start)
    #expect(progress.frame(at: start).bytes == 130)
    let frame = progress.frame(at: start)
    #expect(frame.done == 2 && frame.failed == 1 && frame.all == 6)
    #expect(frame.cancelled == 1)
    #expect(frame.rate == 5)
    #expect(frame.timeLeft == .seconds(30))
    // The second has ended since it was counted.
    progress.look(
      try decoded(#"[{"job": 1, "path": "a", "bytes": 11, "total": 50, "rate": 4}]"#),
      at: start + .seconds(1))
    #expect(progress.frame(at: start + .seconds(1)).bytes == 130)
  }

  @Test func `the bytes of all are known once nothing waits whose length is not`() throws {
    var progress = BatchProgress()
    let running = { (totals: [String]) in
      let rows = totals.enumerated().map {
        #"{"job": \#($0), "path": "a", "bytes": 10, "total": \#($1), "rate": 4}"#
      }
      return "[\(rows.joined(separator: ","))]"
    }
    let looks: [(Int, Int, [String], Int64?)] = [
      // Completed, pending, lengths of what runs: known or not.
      (0, 3, ["50", "30"], nil), (0, 2, ["50", "30"], 80),
      // One begins anew, or waits to be tried again: the bar stays where it is.
      (0, 2, ["50", "null"], 80), (1, 1, [], 80),
      // More have been submitted.
      (1, 3, ["50", "30"], nil), (2, 2, ["50", "30"], 280), (4, 0, [], 400),
    ]
    var bars: [Bool] = []
    for (second, (completed, pending, totals, total)) in looks.enumerated() {
      let states = [("completed", completed), ("queued", pending)].filter { $0.1 > 0 }
      let counts = states.map {
        #"{"state": "\#($0)", "jobs": \#($1), "bytes": \#($0 == "queued" ? 0 : $1 * 100)}"#
      }
      progress.count(try decoded("[\(counts.joined(separator: ","))]"))
      progress.look(try decoded(running(totals)), at: start + .seconds(second))
      let frame = progress.frame(at: start + .seconds(second))
      #expect(frame.total == total)
      bars.append(frame.countsFiles)
    }
    // A bar that has counted files goes on with them.
    #expect(bars == [false, false, false, false, true, true, true])
  }

  @Test func `a rate counts only while bytes come, and while there is news`() throws {
    var progress = BatchProgress()
    progress.count(try decoded(#"[{"state": "running", "jobs": 1, "bytes": 0}]"#))
    let running = { (bytes: Int) throws -> [RunningRow] in
      try decoded(#"[{"job": 1, "path": "a", "bytes": \#(bytes), "total": 50, "rate": 4}]"#)
    }
    let rates = { (progress: BatchProgress, second: Int) in
      let frame = progress.frame(at: start + .seconds(second))
      #expect((frame.timeLeft == nil) == (frame.rate == 0))
      return [frame.rate, frame.transfers[0].rate]
    }
    // Bytes come, and then none: the worker that said the rate may be dead.
    for (bytes, second) in [(10, 0), (20, 4)] {
      progress.look(try running(bytes), at: start + .seconds(second))
      #expect(rates(progress, second) == [4, 4])
    }
    progress.look(try running(20), at: start + .seconds(8))
    #expect(rates(progress, 8) == [4, 4])
    progress.look(try running(20), at: start + .seconds(9))
    #expect(rates(progress, 9) == [0, 0])
    // They come again, and then nobody can look.
    progress.look(try running(21), at: start + .seconds(10))
    #expect(rates(progress, 14) == [4, 4])
    #expect(rates(progress, 15) == [0, 0])
    #expect(progress.frame(at: start + .seconds(15)).bytes == 21)
  }

  @Test func `the time left is that of the slowest, or of the pace of all, whichever is longer`()
    throws
  {
    var progress = BatchProgress()
    let running = #"[{"job": 1, "path": "a", "bytes": 0, "total": 40, "rate": 4}]"#
    for (ended, second) in [(0, 0), (10, 10)] {
      progress.count(
        try decoded(
          """
          [{"state": "completed", "jobs": \(ended), "bytes": 0}, {"state": "queued", "jobs": 30, "bytes": 0}]
          """))
      progress.look(try decoded(running), at: start + .seconds(second))
    }
    #expect(progress.frame(at: start + .seconds(10)).timeLeft == nil)
    progress.count(
      try decoded(
        """
        [{"state": "completed", "jobs": 20, "bytes": 0}, {"state": "queued", "jobs": 30, "bytes": 0}]
        """))
    progress.look(try decoded(running), at: start + .seconds(20))
    #expect(progress.frame(at: start + .seconds(20)).timeLeft == .seconds(30))
  }

  @Test func `idle is only what has seen nothing running for five seconds`() throws {
    var progress = BatchProgress()
    #expect(!progress.isIdle(at: start + .seconds(60)))
    progress.look([], at: start)
    progress.look([], at: start + .seconds(4))
    #expect(!progress.isIdle(at: start + .seconds(4)))
    #expect(progress.isIdle(at: start + .seconds(5)))
    progress.look(
      try decoded(#"[{"job": 1, "path": "a", "bytes": 0, "rate": 0}]"#), at: start + .seconds(6))
    #expect(!progress.isIdle(at: start + .seconds(60)))
  }

  @Test(arguments: [
    (#"[{"state": "completed", "jobs": 1, "bytes": 0}]"#, nil),
    (
      #"[{"state": "queued", "jobs": 1, "bytes": 0}]"#,
      "nothing is running: the queue films is paused. Resume it with: haul queue resume films"
    ),
  ])
  func `why a batch stands still`(counts: String, reason: String?) throws {
    let tally = Tally(try decoded(counts))
    let obstacle = try obstacle(#"{"kind": "paused", "name": "films"}"#)
    #expect(tally.reasonToStandStill(selector: "--batch 'mon day'", obstacle: obstacle) == reason)
    #expect(tally.reasonToStandStill(selector: nil, obstacle: nil) == nil)
  }

  private func obstacle(_ json: String) throws -> Obstacle {
    let rows: [Obstacle] = try decoded("[\(json)]")
    return rows[0]
  }

  @Test(arguments: [
    (
      #"{"kind": "unserved", "name": "films", "start": {"store": "main"}}"#,
      "no worker serves the queue films. Start one with: haul worker --store main=DIRECTORY"
    ),
    (
      #"{"kind": "unserved", "name": "films", "start": {"store": "main", "queue": "films", "schemes": ["ftp"], "hosts": ["127.0.0.1:8080", "a.test", "8.8.8.8", "[fd00::1]:80", "localhost", "1.test"]}}"#,
      "no worker serves the queue films. Start one with: haul worker --store main=DIRECTORY --queue films --allow-scheme ftp --allow-net 127.0.0.1 --allow-net fd00::1"
    ),
    (
      #"{"kind": "unserved", "name": "films", "start": {"store": "main", "schemes": ["sftp"]}}"#,
      "no worker serves the queue films. Start one with: haul worker --store main=DIRECTORY --allow-scheme sftp --known-hosts FILE"
    ),
    (
      #"{"kind": "trouble", "name": "worker 7 (a, pid 9)", "reason": "films: full"}"#,
      "worker 7 (a, pid 9) cannot write to its store: films: full. Repair the store, then check the worker with: haul workers"
    ),
    (
      #"{"kind": "trouble", "name": "worker 7 (a, pid 9)", "reason": "films: is the share mounted?"}"#,
      "worker 7 (a, pid 9) cannot write to its store: films: is the share mounted? Repair the store, then check the worker with: haul workers"
    ),
    (
      #"{"kind": "blocked", "name": "h:80", "seconds": 39.2, "reason": "connect"}"#,
      "the host h:80 is blocked for 40s (connect). Try the host now with: haul host unblock h:80"
    ),
    (
      #"{"kind": "blocked", "name": "h", "reason": "operator"}"#,
      "an operator has blocked the host h. Unblock it with: haul host unblock h"
    ),
    (
      #"{"kind": "interval", "name": "h"}"#,
      "the minimum time between two starts on the host h has not passed. Shorten this time with: haul host set h --interval TIME"
    ),
    (
      #"{"kind": "limited", "name": "films"}"#,
      "the queue films already has as many running jobs as its limit allows"
    ),
    (
      #"{"kind": "limited", "name": "films", "running": 1, "places": 1}"#,
      "the queue films already has 1 of 1 job running. Raise the limit with: haul queue set films --max-running N"
    ),
    (
      #"{"kind": "full", "name": "h"}"#,
      "the host h already has as many transfers in progress as its limit allows"
    ),
    (
      #"{"kind": "full", "name": "vm:18532", "running": 4, "places": 4}"#,
      "the host vm:18532 already has 4 of 4 transfers in progress. Raise the limit with: haul host set vm:18532 --cap N"
    ),
    (
      #"{"kind": "full", "name": "h", "running": 2, "places": 2, "reason": "adaptive"}"#,
      "the host h already has 2 of 2 transfers in progress. Haul lowered this limit after refusals and raises it again as requests succeed"
    ),
    (
      #"{"kind": "full", "name": "h", "running": 1, "places": 1, "reason": "unanswered"}"#,
      "the host h already has 1 of 1 transfer in progress. Haul starts more transfers when the host has sent its first byte"
    ),
    (
      #"{"kind": "busy", "name": "films"}"#,
      "the workers of the queue films are busy"
    ),
    (
      #"{"kind": "busy", "name": "films", "running": 4, "places": 4, "start": {"store": "main"}}"#,
      "the workers of the queue films are busy (4 of 4 transfers). Start another worker with: haul worker --store main=DIRECTORY"
    ),
    (
      #"{"kind": "away", "name": "films"}"#,
      "no live worker mounts the directory with the part files of the queue films. After five minutes other workers download these files again"
    ),
    (
      #"{"kind": "early", "name": "", "seconds": 12, "reason": "http_5xx"}"#,
      "the last attempt failed with http_5xx. The next attempt is in 12s"
    ),
    (
      #"{"kind": "early", "name": "", "seconds": 12}"#,
      "the start time has not come. The next start is in 12s"
    ),
    (
      #"{"kind": "early", "name": "", "seconds": 12, "reason": "disk_full", "attempt": 3, "maxAttempts": 5}"#,
      "the last attempt failed with disk_full. The next attempt (number 3 of 5) is in 12s. Free some space, or give the store more space"
    ),
    (
      #"{"kind": "early", "name": "", "seconds": 229, "reason": "dns", "attempt": 1, "maxAttempts": 5, "maxWait": 86400}"#,
      "the last attempt failed with dns. The next attempt is in 3m49s. Failures of the host or of the worker do not count against the limit of 5. But the job fails if these failures last for 1d00h. Check the name in the URL, and the name server of the worker's machine"
    ),
  ])
  func `what stands in the way`(json: String, sentence: String) throws {
    let tally = Tally(try decoded(#"[{"state": "queued", "jobs": 1, "bytes": 0}]"#))
    #expect(
      tally.reasonToStandStill(selector: nil, obstacle: try obstacle(json))
        == "nothing is running: \(sentence)")
  }

  @Test func `an obstacle is told once, or again when its time is over`() throws {
    var hints = ObstacleThrottle()
    let unserved = try obstacle(#"{"kind": "unserved", "name": "films"}"#)
    let blocked = try obstacle(#"{"kind": "blocked", "name": "h", "seconds": 40}"#)
    let held = try obstacle(#"{"kind": "held", "name": ""}"#)
    for obstacle in [unserved, blocked, held] {
      let isNews = [0, 39].map { hints.isNews(obstacle, at: start + .seconds($0)) }
      #expect(isNews == [true, false])
    }
    let later = [unserved, held, blocked].map { hints.isNews($0, at: start + .seconds(41)) }
    #expect(later == [false, false, true])
  }

  @Test(arguments: [
    ("--batch 'mon day'", "Resume them with: haul resume --batch 'mon day'"),
    (nil, "List them with: haul jobs --state paused"),
  ])
  func `what is paused is let go on, or looked for where no selector names it`(
    selector: String?, advice: String
  ) throws {
    let tally = Tally(try decoded(#"[{"state": "queued", "jobs": 2, "bytes": 0}]"#))
    let held = try obstacle(#"{"kind": "held", "name": ""}"#)
    #expect(
      tally.reasonToStandStill(selector: selector, obstacle: held)
        == "all remaining jobs are paused. \(advice)")
  }

  @Test(arguments: [
    (1, 0, "1 job failed (1 dns)."), (2, 1, "2 jobs failed (2 dns), 1 cancelled."),
    (0, 1, "1 job cancelled."),
  ])
  func `what has not come`(failed: Int, cancelled: Int, sentence: String) throws {
    let rows = [("failed", failed), ("cancelled", cancelled)].filter { $0.1 > 0 }.map {
      #"{"state": "\#($0)", "error": "dns", "jobs": \#($1), "bytes": 0}"#
    }
    #expect(Tally(try decoded("[\(rows.joined(separator: ","))]")).failures == sentence)
  }

  @Test func `what waits keeps its part`() throws {
    var progress = BatchProgress()
    let running = #"[{"job": 1, "path": "a", "bytes": 30, "total": 40, "rate": 4}]"#
    progress.count(try decoded(#"[{"state": "running", "jobs": 1, "bytes": 30, "parts": 0.75}]"#))
    progress.look(try decoded(running), at: start)
    #expect(progress.frame(at: start).parts == 0 && progress.frame(at: start).bytes == 30)
    progress.count(try decoded(#"[{"state": "paused", "jobs": 1, "bytes": 28, "parts": 0.7}]"#))
    progress.look([], at: start + .seconds(1))
    #expect(progress.frame(at: start).parts == 0.7 && progress.frame(at: start).bytes == 28)
  }

  @Test(arguments: [
    ("monday", "monday"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("", "''"), ("$x", "'$x'"),
  ])
  func `text as one word of a shell`(text: String, word: String) {
    #expect(shellWord(text) == word)
  }
}
