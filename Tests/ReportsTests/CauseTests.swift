import JobModel
import JobQueue
import Terminal
import Testing

@testable import Reports

/// What `haul why` makes of the causes that the database finds.
struct CauseTests {
  private func line(_ obstacle: Obstacle, _ asked: AskedJobs) -> String? {
    asked.causes([obstacle]).first?.line
  }

  private func asked(
    _ words: String = "", ids: [Int64]? = nil, batch: String? = nil, queue: String? = nil,
    host: String? = nil
  ) -> AskedJobs {
    var selector = JobSelector()
    selector.ids = ids
    selector.batch = batch
    selector.queue = queue
    selector.host = host
    return AskedJobs(selector, words: words)
  }

  @Test func `a paused batch is named, and nobody else's jobs go on`() {
    let held = Obstacle(.held, "A", jobs: 12)
    let loose = Obstacle(.held, "", jobs: 3)
    let resumed = "12 jobs: The batch A is paused. Resume it with: haul resume --batch A"
    #expect(line(held, asked()) == resumed)
    #expect(line(held, asked("--batch A", batch: "A")) == resumed)
    #expect(
      line(held, asked("--host h", host: "h"))
        == "12 jobs: These jobs of the batch A are paused. Resume them with: haul resume --batch A --host h"
    )
    var partly = asked()
    partly.partlyPaused = ["A"]
    #expect(
      line(held, partly)
        == "12 jobs: Some jobs of the batch A are paused. List them with 'haul jobs --state paused --batch A'. Resume them with: haul resume --batch A"
    )
    #expect(
      line(loose, asked())
        == "3 jobs: Jobs without a batch are paused. Resume them with: haul resume --state paused")
    #expect(
      line(loose, asked("--queue q", queue: "q"))
        == "3 jobs: Jobs without a batch are paused. Resume them with: haul resume --queue q")
    #expect(
      asked().causes([held, loose]).map(\.finding.command)
        == ["haul resume --batch A", "haul jobs --state paused"])
    #expect(
      line(Obstacle(.held, "A", jobs: 1), asked("7", ids: [7]))
        == "1 job: This job is paused. Resume it with: haul resume 7")
  }

  @Test func `a full host says whose transfers fill it`() {
    let full = Obstacle(.full, "h", jobs: 8, running: 4, places: 4)
    for (asked, part) in [
      (asked(), ""), (asked("--batch b", batch: "b"), " (4 of this batch)"),
      (asked("--queue q", queue: "q"), " (4 of this queue)"),
      (asked("--host h", host: "h"), ""), (asked("1 2", ids: [1, 2]), " (4 of these jobs)"),
    ] {
      var asked = asked
      asked.runningOnHost = ["h": 4]
      #expect(
        line(full, asked)
          == "8 jobs: The host h already has 4 of 4 transfers in progress\(part). Raise the limit with: haul host set h --cap N"
      )
    }
    #expect(
      line(full, asked("--batch b", batch: "b"))?.contains(
        "transfers in progress (none of this batch).")
        == true
    )
    let limited = Obstacle(.limited, "q", jobs: 8, running: 2, places: 2)
    #expect(
      line(limited, asked("--batch b", batch: "b"))
        == "8 jobs: The queue q already has 2 of 2 jobs running (none of this batch). Raise the limit with: haul queue set q --max-running N"
    )
    #expect(line(limited, asked("--queue q", queue: "q"))?.contains("of this queue") == false)
  }

  @Test func `a block that ends by itself is told with the jobs that are due`() {
    let asked = asked()
    #expect(line(Obstacle(.blocked, "h", seconds: 40, jobs: 1, due: 0), asked) == nil)
    #expect(
      line(Obstacle(.blocked, "h", seconds: 40, jobs: 2, due: 1), asked)
        == "2 jobs: The host h is blocked for 40s. Try the host now with: haul host unblock h")
    #expect(
      Obstacle(.blocked, "h", seconds: 40, due: 0).sentence(of: nil)
        == "the host h is blocked for 40s")
    #expect(
      line(Obstacle(.blocked, "h", reason: "operator", jobs: 1, due: 0), asked)
        == "1 job: An operator has blocked the host h. Unblock it with: haul host unblock h")
  }

  @Test func `six causes are told, one a line, and how many there are besides`() {
    let causes = asked().causes((1...8).map { Obstacle(.paused, "q\($0)", jobs: 9 - $0) })
    let standing = JobsStanding(
      counts: [(.running, 4), (.queued, 36), (.paused, 2)], causes: causes, free: 1, more: 3,
      note: "All of it.")
    let lines = standing.text(of: "").split(separator: "\n").map(String.init)
    #expect(lines[0] == "4 jobs run. 38 jobs do not run: 36 queued, 2 paused.")
    #expect(lines[1] == "8 jobs: The queue q1 is paused. Resume it with: haul queue resume q1")
    #expect(lines[6].hasPrefix("3 jobs: The queue q6"))
    #expect(
      lines[7...] == [
        "and 5 more reasons", "1 job: Nothing blocks it. Workers start it soon.", "All of it.",
      ])
    #expect(
      JSONValue.object(causes[0].members).line
        == #"{"kind":"paused","jobs":8,"sentence":"The queue q1 is paused.","command":"haul queue resume q1"}"#
    )
  }

  @Test func `where nothing is in the way, that is said`() {
    let waiting = JobsStanding(counts: [(.queued, 1)])
    #expect(
      waiting.text(of: "")
        == "1 job does not run: 1 queued. Nothing blocks it: it starts as soon as a worker claims it."
    )
    #expect(JobsStanding(counts: [(.running, 2)]).text(of: "") == "2 jobs run.")
    #expect(JobsStanding(counts: []).text(of: "") == "This pool has no jobs.")
  }
}
