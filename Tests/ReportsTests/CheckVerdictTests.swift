import Foundation
import JobModel
import Stores
import Terminal
import Testing

@testable import Checks
@testable import HaulTransfer
@testable import JobQueue
@testable import Worker

/// The thresholds and words of `haul check`.
struct CheckVerdictTests {
  private static let all = ["haul_admin", "haul_monitor", "haul_submitter", "haul_worker"]

  private func facts(
    number: Int = 150_020, roles: [String] = all,
    may: DatabaseFacts.Rights = .init(work: true, submit: true, watch: true, administer: true),
    hasSchema: Bool = true, encoding: String = "UTF8", seesAll: Bool = true,
    oldest: DatabaseFacts.HeldSnapshot? = nil, patientLogins: [String] = []
  ) -> DatabaseFacts {
    DatabaseFacts(
      server: "15.20", serverNumber: number, database: "pool", encoding: encoding, user: "alice",
      time: 0,
      maxConnections: 100, reservedConnections: 3, connections: 1, roles: roles,
      hasSchema: hasSchema, may: may, patientLogins: patientLogins, seesAllSessions: seesAll,
      oldest: oldest)
  }

  private func held(_ seconds: Double, pid: Int32? = 7) -> DatabaseFacts.HeldSnapshot {
    DatabaseFacts.HeldSnapshot(pid: pid, name: "psql", user: "bob", seconds: seconds)
  }

  @Test func `logins whose transactions may stand idle are named with the way out`() {
    #expect(CheckVerdicts.timeouts(facts()).isEmpty)
    let one = CheckVerdicts.timeouts(facts(patientLogins: ["alice"]))
    #expect(one.map(\.verdict) == [.warn])
    #expect(
      one.first?.advice
        == "Run ALTER ROLE alice SET idle_in_transaction_session_timeout = '1min'.")
    let two = CheckVerdicts.timeouts(facts(patientLogins: ["alice", "bob"]))
    #expect(two.first?.detail.hasPrefix("the logins alice and bob have no idle") == true)
  }

  @Test(arguments: [
    ("UTF8", true, nil as CheckFinding.Verdict?), ("SQL_ASCII", true, .warn),
    ("LATIN1", false, .fail),
  ])
  func `an encoding that cannot hold every text is told of`(
    encoding: String, hasSchema: Bool, verdict: CheckFinding.Verdict?
  ) {
    let findings = CheckVerdicts.encoding(facts(hasSchema: hasSchema, encoding: encoding))
    #expect(findings.map(\.verdict) == (verdict.map { [$0] } ?? []))
  }

  @Test(arguments: [
    ("OpenSSL/3" as String?, "1.52" as String?, CheckFinding.Verdict.ok), ("OpenSSL/3", nil, .warn),
    (nil, "1.52", .fail),
  ])
  func `libraries need TLS and should have HTTP2`(
    tls: String?, nghttp2: String?, verdict: CheckFinding.Verdict
  ) {
    let libraries = TransferLibraries(
      curl: "7.88.1", tls: tls, nghttp2: nghttp2, zlib: nil, openSSL: "3")
    #expect(CheckVerdicts.libraries(libraries, libpq: "15.1").verdict == verdict)
  }

  @Test func `failures of machines are told, and no others`() {
    func counts(_ jobs: [(String, Int)]) -> [JobCount] {
      jobs.map {
        JobCount(
          state: .failed, error: ErrorClass(rawValue: $0.0), jobs: $0.1, bytes: 0, parts: nil)
      }
    }
    #expect(CheckVerdicts.failures([]) == [])
    #expect(CheckVerdicts.failures(counts([("http_404", 9), ("digest", 1)])) == [])
    #expect(
      CheckVerdicts.failures(counts([("http_404", 9), ("disk_full", 3), ("io", 1)])) == [
        .warn(
          "failures",
          "4 jobs failed in this hour or the previous hour because of problems on a machine of the pool: 3 with disk_full, 1 with io",
          "'haul failures' shows the messages. Repair the cause, then run: haul retry --error disk_full; haul retry --error io"
        )
      ])
  }

  @Test func `PostgreSQL before 15 fails`() {
    #expect(CheckVerdicts.server(facts(number: 150_000)).verdict == .ok)
    #expect(CheckVerdicts.server(facts(number: 149_999)).verdict == .fail)
  }

  @Test(arguments: [
    (nil as Int?, false, CheckFinding.Verdict.fail, "Run 'haul migrate'." as String?),
    (1, false, .fail, "Run 'haul migrate'. Workers can continue meanwhile."), (2, true, .ok, nil),
    (3, true, .warn, "Upgrade haul on this machine."),
    (3, false, .fail, "Use a newer Haul version."),
  ])
  func `the schema must be this program's or serve it`(
    version: Int?, isServed: Bool, verdict: CheckFinding.Verdict, advice: String?
  ) {
    let finding = CheckVerdicts.schema(version: version, program: 2, isServed: isServed)
    #expect(finding.verdict == verdict)
    #expect(finding.advice == advice)
  }

  @Test func `all four roles must be there, and one of them granted`() {
    let none = DatabaseFacts.Rights(work: false, submit: false, watch: false, administer: false)
    let monitor = DatabaseFacts.Rights(work: false, submit: false, watch: true, administer: false)
    let missing = CheckVerdicts.roles(facts(roles: ["haul_admin", "haul_worker"]))
    #expect(missing.verdict == .fail)
    #expect(missing.detail == "missing: haul_submitter, haul_monitor")
    #expect(CheckVerdicts.roles(facts(may: none)).verdict == .fail)
    #expect(CheckVerdicts.roles(facts(may: none, hasSchema: false)).verdict == .ok)
    #expect(
      CheckVerdicts.roles(facts(may: monitor))
        == .ok(
          "roles",
          "all four roles exist; alice may watch the pool, but not run workers, submit jobs or administer the pool"
        ))
  }

  @Test(arguments: [
    (0, CheckFinding.Verdict.ok), (2000, .ok), (-2000, .ok), (2001, .warn), (-2001, .warn),
  ])
  func `clocks may be two seconds apart`(milliseconds: Int, verdict: CheckFinding.Verdict) {
    #expect(CheckVerdicts.clock(ahead: .milliseconds(milliseconds)).verdict == verdict)
  }

  @Test func `the side of the clock is told`() {
    #expect(
      CheckVerdicts.clock(ahead: .seconds(-9)).detail == "this machine is 9s behind the database")
    #expect(
      CheckVerdicts.clock(ahead: .seconds(9)).detail == "this machine is 9s ahead of the database")
  }

  @Test(arguments: [
    (87, 100, CheckFinding.Verdict.ok), (88, 100, .warn), (11, 20, .ok), (12, 20, .warn),
    (99, 20, .warn),
  ])
  func `a tenth of the connections must be free`(
    used: Int, most: Int, verdict: CheckFinding.Verdict
  ) {
    #expect(CheckVerdicts.connections(used: used, of: most, reserved: 3).verdict == verdict)
  }

  @Test func `a snapshot held for five minutes is warned of, with who ends it`() {
    #expect(CheckVerdicts.snapshots(facts()).verdict == .ok)
    #expect(CheckVerdicts.snapshots(facts(oldest: held(300))).verdict == .ok)
    let old = CheckVerdicts.snapshots(facts(seesAll: false, oldest: held(420)))
    #expect(old.verdict == .warn)
    #expect(old.detail == "the oldest snapshot has been held for 7m00s by process 7 (psql, bob)")
    #expect(old.advice?.contains("pg_terminate_backend(7)") == true)
    let prepared = CheckVerdicts.snapshots(facts(oldest: held(420, pid: nil)))
    #expect(prepared.advice?.contains("ROLLBACK PREPARED") == true)
    let blind = CheckVerdicts.snapshots(facts(seesAll: false, oldest: held(3)))
    #expect(blind.verdict == .ok)
    #expect(
      blind.detail.hasSuffix(
        ", as far as alice can see; the role pg_read_all_stats also shows the sessions of other users"
      )
    )
    #expect(
      CheckVerdicts.snapshots(facts(seesAll: false)).detail.hasPrefix(
        "no session holds a snapshot open, as far as alice can see"))
  }

  @Test func `a standby that keeps rows is named`() {
    var facts = facts()
    facts.standby = .init(name: "the replication slot s1", transactions: 12)
    #expect(
      CheckVerdicts.snapshots(facts)
        == .ok(
          "snapshots",
          "no session of this server holds a snapshot open; the replication slot s1 keeps rows of the last 12 transactions"
        ))
  }

  @Test func `a broken invariant fails`() {
    let rows = [
      HealthRow(check: "one_state", violations: 0, meaning: "jobs"),
      HealthRow(check: "lost_lane", violations: 2, meaning: "lanes that no claim would find"),
    ]
    #expect(CheckVerdicts.health(rows).map(\.verdict) == [.fail])
    #expect(CheckVerdicts.health(rows)[0].detail == "lost_lane: 2 lanes that no claim would find")
    #expect(
      CheckVerdicts.health([rows[0]]) == [.ok("health", "no errors found in 1 consistency check")])
  }

  @Test(arguments: [
    (2048, 20_480, CheckFinding.Verdict.ok), (1024, 20_480, .ok), (1023, 10_240, .warn),
    (2048, 40_980, .warn),
  ])
  func `a store wants a twentieth and 1 GiB free`(
    mebibytes: Int64, total: Int64, verdict: CheckFinding.Verdict
  ) {
    #expect(CheckVerdicts.free("films", mebibytes << 20, of: total << 20).verdict == verdict)
  }

  @Test func `what a marker means depends on who knows it`() throws {
    let mount = StoreMount(name: "films", directory: "/srv")
    let known = CheckVerdicts.KnownStores(rows: [], pool: "p")
    let stray = StoreProbe(mount, marker: .success("m"))
    #expect(CheckVerdicts.store(stray, known).map(\.verdict) == [.fail])
    #expect(CheckVerdicts.store(stray, .init()).map(\.verdict) == [.ok])
    for error in [
      StoreError.absent("/srv"), .noDirectory("/srv"), .noMarker(store: "films", directory: "/srv"),
      .unreadableMarker("/srv"),
    ] {
      let finding = try #require(
        CheckVerdicts.store(StoreProbe(mount, marker: .failure(error)), known).first)
      #expect(finding.verdict == .fail)
      #expect(finding.advice != nil)
    }
  }

  @Test func `part files of another pool are named`() {
    var probe = StoreProbe(
      StoreMount(name: "films", directory: "/srv"), marker: .failure(.unreadableMarker("/srv")))
    probe.parts = ["own": 3, "other": 2, "empty": 0]
    let findings = CheckVerdicts.store(probe, .init(rows: [], pool: "own")).dropFirst()
    #expect(findings.map(\.detail) == ["the store has 2 part files of another pool, other"])
    #expect(findings.map(\.verdict) == [.warn])
  }

  @Test func `a line for people and one for programs`() {
    let finding = CheckFinding.warn("clock", "odd\u{1b}", "Mend it.")
    #expect(
      finding.text(on: Screen(width: nil))
        == "warn  clock         odd\\u001b\n      Mend it.\n")
    #expect(
      finding.text(on: Screen(width: 80, hasColors: true)).hasPrefix("\u{1b}[33mwarn\u{1b}[0m"))
    #expect(
      JSONValue.object(finding.members).line
        == #"{"verdict":"warn","what":"clock","detail":"odd\u001b","advice":"Mend it."}"#)
  }

  private func vital(
    _ vital: String, _ value: Double?, _ unit: String, of subject: String? = nil,
    alarms: Bool = true
  ) -> VitalRow {
    VitalRow(
      vital: vital, subject: subject, value: value, unit: unit, alarming: alarms, meaning: "so")
  }

  @Test func `of vitals those that alarm are told, unless they were told or never measured`() {
    let rows = [
      vital("dead_rows", 250_000, "rows", of: "ready"),
      vital("notify_queue", 0.75, "of 1", of: "process 7 of alice"),
      vital("partition_room", 9, "jobs", alarms: false), vital("last_round", nil, "seconds"),
      vital("connections", 0.95, "of 1"), vital("stranded_lanes", 2, "lanes", of: "films"),
      vital("stranded_lanes", 3, "lanes", of: "music"),
      vital("stranded_lanes", 1, "lanes", of: "books"),
    ]
    let findings = CheckVerdicts.vitals(rows, told: ["connections", "stranded_lanes films"])
    #expect(
      findings.map(\.detail) == [
        "dead rows (ready): 250000 rows; so", "notify queue (process 7 of alice): 75%; so",
        "the queue music has waiting jobs for 3 hosts, and no live worker can take these jobs",
        "the queue books has waiting jobs for 1 host, and no live worker can take these jobs",
      ])
    #expect(findings.allSatisfy { $0.verdict == .warn && $0.advice != nil })
    #expect(findings[0].advice?.contains("VACUUM haul.ready") == true)
    #expect(findings[1].advice?.contains("SELECT pg_terminate_backend(PID)") == true)
    #expect(CheckVerdicts.vitals([rows[2], rows[3]], told: []).map(\.verdict) == [.ok])
  }

  private func queue(_ name: String, workers: Int64, scheduled: Int64 = 2) throws -> QueueRow {
    try JSONDecoder().decode(
      QueueRow.self,
      from: Data(
        """
        {"queue": "\(name)", "store": "main", "paused": false, "queued": 0, "interrupted": 0, "scheduled": \(scheduled),
          "held": 0, "running": 0, "rate": 0, "workers": \(workers), "weight": 1, "defaults": {}}
        """.utf8))
  }

  @Test func `a queue is not well whose workers cannot write or whose jobs find the disk full`()
    throws
  {
    let shut = CheckVerdicts.QueueTrouble(store: "worker 7 (a, pid 9): main: read-only")
    var full = CheckVerdicts.QueueTrouble(obstacles: [
      Obstacle(.early, "", seconds: 3, reason: "disk_full", jobs: 2)
    ])
    let unserved = CheckVerdicts.QueueTrouble(obstacles: [
      Obstacle(.unserved, "d", start: WorkerStart(store: "main", queue: "d", hosts: ["10.0.0.1"]))
    ])
    let early = CheckVerdicts.QueueTrouble(obstacles: [
      Obstacle(.early, "", seconds: 3, reason: "timeout", jobs: 2)
    ])
    let findings = CheckVerdicts.queues(
      [
        try queue("a", workers: 1, scheduled: 0), try queue("b", workers: 1),
        try queue("c", workers: 1), try queue("d", workers: 0), try queue("e", workers: 0),
      ], mounted: [], troubles: ["a": shut, "b": full, "c": early, "d": unserved])
    #expect(findings.map(\.verdict) == [.warn, .warn, .ok, .warn, .warn])
    #expect(
      findings.map(\.detail) == [
        "a: 0 waiting jobs, 1 live worker. No live worker of the queue can write to the store: worker 7 (a, pid 9): main: read-only",
        "b: 2 waiting jobs, 1 live worker; 2 jobs failed with disk_full and will be retried",
        "c: 2 waiting jobs, 1 live worker", "d: 2 waiting jobs, 0 live workers",
        "e: 2 waiting jobs, 0 live workers",
      ])
    #expect(findings[1].advice == "Free some space, or give the store more space.")
    // The jobs beyond the first thousand were not looked at.
    full.isWhole = false
    let cut = try CheckVerdicts.queues([queue("b", workers: 1)], mounted: [], troubles: ["b": full])
    #expect(
      cut[0].detail
        == "b: 2 waiting jobs, 1 live worker; at least 2 jobs failed with disk_full and will be retried"
    )
    #expect(
      findings[3].advice
        == "Start a worker on a machine that mounts the store of the queue: haul worker --store main=DIRECTORY --queue d --allow-net 10.0.0.1"
    )
  }
}
