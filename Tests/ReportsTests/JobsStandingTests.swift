import JobModel
import JobQueue
import Testing

@testable import Reports

/// What `haul why` says of jobs that have ended, whose workers are silent or dead, or that are due.
struct JobsStandingTests {
  private func line(_ obstacle: Obstacle) -> String? {
    AskedJobs(JobSelector(), words: "").causes([obstacle]).first?.line
  }

  @Test func `jobs that have ended are counted, with what queues them again`() {
    func text(
      _ selector: String, completed: Int = 8, failed: Int = 0, cancelled: Int = 0
    ) -> String {
      JobsStanding(
        counts: [],
        ended: [(.completed, completed), (.failed, failed), (.cancelled, cancelled)]
      ).text(of: selector)
    }
    #expect(text("") == "All jobs have ended: 8 completed.")
    #expect(
      text("--batch b", cancelled: 32)
        == "All of these jobs have ended: 8 completed, 32 cancelled. 'haul cancel --undo --batch b' queues the cancelled jobs again."
    )
    #expect(
      text("", completed: 0, cancelled: 1)
        == "All jobs have ended: 1 cancelled. 'haul retry --state cancelled' queues the cancelled job again."
    )
    #expect(
      text("--batch b", failed: 1)
        == "All of these jobs have ended: 8 completed, 1 failed. 'haul failures' shows why 1 job failed, and 'haul retry --batch b' retries it."
    )
    // Without --state it would queue the cancelled jobs too.
    #expect(
      text("--batch b", completed: 0, failed: 2, cancelled: 3)
        == "All of these jobs have ended: 2 failed, 3 cancelled. 'haul failures' shows why 2 jobs failed, and 'haul retry --state failed --batch b' retries them. 'haul cancel --undo --batch b' queues the cancelled jobs again."
    )
    #expect(
      JobsStanding(counts: []).text(of: "", in: "haul at h")
        == "There are no jobs in the pool haul at h.")
  }

  @Test func `nothing is advised for jobs that were removed`() {
    func text(failed: Int, cancelled: Int) -> String {
      JobsStanding(
        counts: [], ended: [(.completed, 8), (.failed, 2), (.cancelled, 1)],
        kept: [(.failed, failed), (.cancelled, cancelled)]
      ).text(of: "--batch b")
    }
    let begin = "All of these jobs have ended: 8 completed, 2 failed, 1 cancelled."
    #expect(
      text(failed: 0, cancelled: 0)
        == "\(begin) 3 failed or cancelled jobs were removed since then: to download their files, submit their URLs again."
    )
    #expect(
      text(failed: 1, cancelled: 1)
        == "\(begin) 'haul failures' shows why 1 job failed, and 'haul retry --state failed --batch b' retries it. 'haul cancel --undo --batch b' queues the cancelled job again. 1 failed or cancelled job was removed since then: to download its file, submit its URL again."
    )
    #expect(
      text(failed: 2, cancelled: 0)
        == "\(begin) 'haul failures' shows why 2 jobs failed, and 'haul retry --batch b' retries them. 1 failed or cancelled job was removed since then: to download its file, submit its URL again."
    )
  }

  @Test func `silent and dead workers are named`() {
    let start = WorkerStart(
      store: "main", queue: nil, roots: [.init(machine: "nowhere", root: "/srv/my files")])
    #expect(
      line(Obstacle(.silent, "worker 4 (h, pid 7)", seconds: 13.2, jobs: 3))
        == "3 jobs: Worker 4 (h, pid 7) has sent no heartbeat for 14s. Other workers take over these jobs when the leases of the silent worker have expired."
    )
    let alone = Obstacle(
      .silent, "worker 4 (h, pid 7)", seconds: 13.2, reason: "alone", start: start, jobs: 3)
    #expect(
      line(alone)
        == "3 jobs: Worker 4 (h, pid 7) has sent no heartbeat for 14s, and no other worker can take over its jobs. If this worker does not come back, start another worker with: haul worker --store 'main=/srv/my files'"
    )
    #expect(
      line(Obstacle(.unheard, "docs", jobs: 7))
        == "7 jobs: All workers of the queue docs have stopped sending heartbeats. List them with: haul workers"
    )
    let lost = Obstacle(.lost, "docs", start: start, jobs: 3, leaderless: true)
    let standing = JobsStanding(
      counts: [(.running, 4)], causes: AskedJobs(JobSelector(), words: "").causes([lost]))
    #expect(
      standing.text(of: "")
        == """
        1 job runs. 3 jobs have the state running, but no worker runs them.
        3 jobs: The workers that ran these jobs of the queue docs are dead, and no worker or coordinator is running to take over the jobs. Start one with: haul worker --store 'main=/srv/my files'
        """
    )
    #expect(
      line(Obstacle(.lost, "docs", jobs: 3, leaderless: false))?.hasSuffix(
        "are dead. Haul queues these jobs again within seconds.") == true)
  }

  @Test func `a try that is due is not said to come later`() {
    func early(_ reason: String?, _ leaderless: Bool) -> String {
      line(
        Obstacle(.early, "", seconds: -60, reason: reason, jobs: 1, leaderless: leaderless)) ?? ""
    }
    let nobody = "due, but no worker or coordinator is running to start jobs"
    #expect(early("timeout", true).contains("The next attempt is \(nobody)"))
    #expect(early("timeout", false).contains("The next attempt is due"))
    #expect(
      early(nil, true)
        == "1 job: The start time has come, but no worker or coordinator is running to start jobs.")
  }

  @Test func `a worker's directory is told where only one can be meant`() {
    func command(_ roots: [(String, String)]) -> String {
      WorkerStart(
        store: "s", queue: nil, roots: roots.map { .init(machine: $0.0, root: $0.1) }
      ).command(on: "a")
    }
    #expect(command([]) == "haul worker --store s=DIRECTORY")
    #expect(command([("b", "/x")]) == "haul worker --store s=/x")
    #expect(command([("b", "/x"), ("a", "/y")]) == "haul worker --store s=/y")
    #expect(command([("b", "/x"), ("c", "/y")]) == "haul worker --store s=DIRECTORY")
    #expect(command([("a", "/x"), ("a", "/y")]) == "haul worker --store s=DIRECTORY")
  }
}
