package import HaulTransfer
import JobModel
package import JobQueue
import Reports
import Terminal

/// The thresholds and the advice of `haul check`. Its functions turn facts into findings and have no side effects.
package enum CheckVerdicts {
  package static func libraries(_ libraries: TransferLibraries, libpq: String) -> CheckFinding {
    let detail = "\(libraries.curlText), libpq \(libpq), OpenSSL \(libraries.openSSL)"
    let what = "libraries"
    if libraries.tls == nil {
      return .fail(
        what, "\(detail): no TLS", "Install a libcurl with TLS. Without TLS, https downloads fail.")
    }
    if libraries.nghttp2 == nil {
      return .warn(
        what, "\(detail): no HTTP/2", "Install a libcurl with HTTP/2. Some servers need HTTP/2.")
    }
    return .ok(what, detail)
  }

  package static func server(_ facts: DatabaseFacts) -> CheckFinding {
    let detail = "PostgreSQL \(facts.server), database \(facts.database) as \(facts.user)"
    return facts.serverNumber >= 150_000
      ? .ok("connection", detail)
      : .fail("connection", detail, "Use PostgreSQL 15 or newer.")
  }

  /// Reports whether the connection has a session of its own or goes through a pooler in transaction mode.
  package static func pooler(hasSessions: Bool) -> CheckFinding {
    hasSessions
      ? .ok("pooler", "each connection has its own session")
      : .warn(
        "pooler",
        "the pooler is in transaction mode: submit, lists and control commands work through the pooler, but workers, coordinators and migrate do not",
        "Connect workers, coordinators and migrate to another address, or use session mode (pool_mode = session)."
      )
  }

  /// Checks the database's encoding. Returns no finding if the database can store every text.
  package static func encoding(_ facts: DatabaseFacts) -> [CheckFinding] {
    if facts.encoding == "UTF8" { return [] }
    let advice =
      "Haul needs UTF8. Create another database with 'createdb --encoding UTF8 --template template0 NAME'"
    return [
      facts.hasSchema
        ? .warn(
          "encoding",
          "\(facts.encoding): the database may truncate or refuse text that this encoding cannot represent",
          "\(advice), and submit the jobs to the new database.")
        : .fail("encoding", facts.encoding, "\(advice).")
    ]
  }

  /// Compares the schema version of the database with the schema version of the program. `version` is nil if the database has
  /// no Haul schema. `isServed` says whether a newer schema still supports this program.
  package static func schema(version: Int?, program: Int, isServed: Bool) -> CheckFinding {
    guard let version else {
      return .fail("schema", "the database has no Haul schema", "Run 'haul migrate'.")
    }
    if version < program {
      return .fail(
        "schema", "the schema has version \(version), but this program needs version \(program)",
        "Run 'haul migrate'. Workers can continue meanwhile.")
    }
    if version > program && isServed {
      return .warn(
        "schema",
        "the schema has version \(version), which also works with this program (version \(program))",
        "Upgrade haul on this machine.")
    }
    if version > program {
      return .fail(
        "schema",
        "the schema has version \(version), but this program knows only versions up to \(program)",
        "Use a newer Haul version.")
    }
    return .ok("schema", "the schema has version \(version), which this program needs")
  }

  /// Checks that all roles exist, and reports this user's permissions.
  package static func roles(_ facts: DatabaseFacts) -> CheckFinding {
    let names = PoolRole.allCases.reversed().map { $0.name(facts.may.prefix) }
    let missing = names.filter { !facts.roles.contains($0) }
    if !missing.isEmpty {
      return .fail("roles", "missing: \(missing.joined(separator: ", "))", "Run 'haul migrate'.")
    }
    let may = facts.may
    let rights = [
      ("run workers", may.work), ("submit jobs", may.submit), ("watch the pool", may.watch),
      ("administer the pool", may.administer),
    ]
    let given = rights.filter(\.1).map(\.0)
    let lacking = rights.filter { !$0.1 }.map(\.0)
    if given.isEmpty {
      guard facts.hasSchema else { return .ok("roles", "all four roles exist") }
      return .fail(
        "roles", "all four roles exist, but \(facts.user) has no rights in this pool",
        "Ask the owner to GRANT \(listed(names.reversed(), "or")) TO \(facts.user)."
      )
    }
    let rest = lacking.isEmpty ? "" : ", but not \(listed(lacking, "or"))"
    return .ok("roles", "all four roles exist; \(facts.user) may \(listed(given, "and"))\(rest)")
  }

  /// Warns about logins that may leave a transaction open without a time limit. Returns no finding if there are none.
  package static func timeouts(_ facts: DatabaseFacts) -> [CheckFinding] {
    let logins = facts.patientLogins
    guard let first = logins.first else { return [] }
    let whose =
      logins.count == 1 ? "the login \(first) has" : "the logins \(listed(logins, "and")) have"
    return [
      .warn(
        "time-outs",
        "\(whose) no idle_in_transaction_session_timeout: an open transaction may keep jobs waiting for minutes",
        "Run "
          + logins.map { "ALTER ROLE \($0) SET idle_in_transaction_session_timeout = '1min'" }
          .joined(separator: "; ") + ".")
    ]
  }

  /// Returns the words as a list such as `a`, `a and b` or `a, b and c`.
  private static func listed(_ words: [String], _ conjunction: String) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return "\(words.dropLast().joined(separator: ", ")) \(conjunction) \(last)"
  }

  /// Compares the clocks. `ahead` is an estimate of how far this machine's clock is ahead of the database server's clock.
  package static func clock(ahead: Duration) -> CheckFinding {
    let apart = ahead < .zero ? .zero - ahead : ahead
    let side = ahead < .zero ? "behind" : "ahead of"
    let detail = "this machine is \(HumanFormat.duration(apart)) \(side) the database"
    guard apart > .seconds(2) else { return .ok("clock", detail) }
    return .warn(
      "clock", detail,
      "Jobs are not affected; only log timestamps will differ. Set both clocks with NTP."
    )
  }

  package static func connections(used: Int, of most: Int, reserved: Int) -> CheckFinding {
    let free = max(most - reserved - used, 0)
    let detail = "\(used) of \(most) in use, \(free) free"
    guard free < max(most / 10, 6) else { return .ok("connections", detail) }
    return .warn(
      "connections", detail,
      "Raise max_connections. Each worker needs two sessions, even behind a pooler."
    )
  }

  package static func snapshots(_ facts: DatabaseFacts) -> CheckFinding {
    let what = "snapshots"
    let unseen =
      facts.seesAllSessions
      ? ""
      : ", as far as \(facts.user) can see; the role pg_read_all_stats also shows the sessions of other users"
    if let oldest = facts.oldest {
      let age = HumanFormat.duration(.seconds(oldest.seconds))
      let name = oldest.name.isEmpty ? "no name" : oldest.name
      let holder = oldest.pid.map { "process \($0)" } ?? "a prepared transaction"
      let detail =
        "the oldest snapshot has been held for \(age) by \(holder) (\(name), \(oldest.user ?? "unknown user"))"
      if oldest.seconds > 300 {
        let end =
          oldest.pid.map { "SELECT pg_terminate_backend(\($0))" } ?? "ROLLBACK PREPARED"
        return .warn(
          what, detail,
          "Until this transaction ends, dead rows pile up and claims slow down. To end the transaction, run \(end)."
        )
      }
      return .ok(what, detail + unseen)
    }
    if let standby = facts.standby {
      // The vitals warn if there are too many of these transactions.
      return .ok(
        what,
        "no session of this server holds a snapshot open; \(standby.name) keeps rows of the last \(counted(standby.transactions, "transaction"))\(unseen)"
      )
    }
    return .ok(what, "no session holds a snapshot open\(unseen)")
  }

  /// The problems of one queue.
  package struct QueueTrouble: Sendable {
    /// The reasons why waiting jobs of the queue do not start.
    package var obstacles: [Obstacle]
    /// One worker of the queue, and the reason why that worker cannot write to the store. Nil if any live worker of the queue
    /// can write to the store.
    package var store: String?
    /// Whether all waiting jobs were examined for ``obstacles``. If not, each reason may affect more jobs.
    package var isWhole: Bool

    /// Creates a value. Without arguments, the queue has no problems.
    package init(obstacles: [Obstacle] = [], store: String? = nil, isWhole: Bool = true) {
      self.obstacles = obstacles
      self.store = store
      self.isWhole = isWhole
    }
  }

  /// Checks the queues. `mounted` lists the stores that live workers mount. `troubles` has the known problems; its keys are
  /// queue names.
  package static func queues(
    _ rows: [QueueRow], mounted: Set<String>, troubles: [String: QueueTrouble] = [:]
  ) -> [CheckFinding] {
    if rows.isEmpty {
      return [.warn("queues", "this pool has no queues", "Run 'haul store init NAME DIRECTORY'.")]
    }
    return rows.map { row in
      let waiting = row.queued + row.interrupted + row.scheduled
      let detail =
        "\(row.queue): \(counted(Int(waiting), "waiting job")), \(counted(row.workers, "live worker"))"
        + (row.held > 0 ? ", \(counted(Int(row.held), "paused job"))" : "")
        + (row.paused ? ", paused" : "")
      let trouble = troubles[row.queue] ?? QueueTrouble()
      if row.workers == 0, waiting > 0 {
        let known = trouble.obstacles.first { $0.kind == .unserved }?.start
        let start =
          known
          ?? WorkerStart(store: row.store, queue: mounted.contains(row.store) ? row.queue : nil)
        return .warn(
          "queue", detail,
          "Start a worker on a machine that mounts the store of the queue: \(start.command)")
      }
      if let store = trouble.store {
        return .warn(
          "queue", "\(detail). No live worker of the queue can write to the store: \(store)",
          "Repair the store. The worker then continues by itself; 'haul workers' shows the error of the worker."
        )
      }
      let full = trouble.obstacles.first { $0.reason == diskFull && ($0.jobs ?? 0) > 0 }
      if let full, let jobs = full.jobs {
        return .warn(
          "queue",
          "\(detail); \(trouble.isWhole ? "" : "at least ")\(counted(jobs, "job")) failed with \(diskFull) and will be retried",
          "Free some space, or give the store more space.")
      }
      return .ok("queue", detail)
    }
  }

  private static let diskFull = "disk_full"

  /// Error classes that point to a problem of a machine or of Haul, not of a URL or its server.
  private static let faultsOfMachines: Set<ErrorClass> = Set(
    [diskFull, "io", "not_permitted", "open_files", "internal"].map(ErrorClass.init(rawValue:)))

  /// Warns about recent failures whose cause is a machine and not a job. `counts` are the numbers of recently failed jobs by
  /// error class.
  package static func failures(_ counts: [JobCount]) -> [CheckFinding] {
    let counts = counts.filter { $0.error.map(faultsOfMachines.contains) == true }
    if counts.isEmpty { return [] }
    let classes = counts.map { "\($0.jobs) with \($0.error?.rawValue ?? "")" }
    let total = counts.reduce(0) { $0 + $1.jobs }
    let retry = counts.compactMap(\.error?.rawValue).map { "haul retry --error \($0)" }
    return [
      .warn(
        "failures",
        "\(counted(total, "job")) failed in this hour or the previous hour because of problems on a machine of the pool: \(classes.joined(separator: ", "))",
        "'haul failures' shows the messages. Repair the cause, then run: \(retry.joined(separator: "; "))"
      )
    ]
  }

  package static func health(_ rows: [HealthRow]) -> [CheckFinding] {
    let broken = rows.filter { $0.violations > 0 }
    if broken.isEmpty {
      return [.ok("health", "no errors found in \(counted(rows.count, "consistency check"))")]
    }
    return broken.map {
      .fail(
        "health", "\($0.check): \($0.violations) \($0.meaning)",
        "This is an error in Haul. Keep the logs, and report it with the result of SELECT * FROM haul.health."
      )
    }
  }
}
