import JobModel
package import JobQueue
import Log
import Postgres

/// The part of `haul check` that queries the database. It runs each query separately, so if the user lacks the rights for one
/// query, the other queries still run.
package struct DatabaseCheck {
  package let queue: JobQueue
  /// Returns a sentence that describes any error.
  package let describe: (any Error) -> String

  package init(queue: JobQueue, describe: @escaping (any Error) -> String) {
    self.queue = queue
    self.describe = describe
  }

  /// Runs all queries. Returns the findings, and the facts about the pool's stores.
  package func run() async -> (findings: [CheckFinding], known: CheckVerdicts.KnownStores) {
    var findings = [CheckFinding.ok("pool", queue.database)]
    var may = true
    var told: Set = ["connections"]
    let asked = WallTime.now().milliseconds
    await ask("server", &findings) {
      let facts = try await queue.databaseFacts()
      let middle = (asked + WallTime.now().milliseconds) / 2
      let ahead = Duration.milliseconds(middle) - .seconds(facts.time)
      may = facts.may.watch
      if facts.seesAllSessions { told.insert("oldest_snapshot") }
      return [
        CheckVerdicts.server(facts)
      ] + CheckVerdicts.encoding(facts) + [
        CheckVerdicts.roles(facts),
        CheckVerdicts.clock(ahead: ahead),
        CheckVerdicts.connections(
          used: facts.connections, of: facts.maxConnections, reserved: facts.reservedConnections),
        CheckVerdicts.snapshots(facts),
      ] + CheckVerdicts.timeouts(facts)
    }
    var isServed = false
    await ask("schema", &findings) {
      let (version, program) = (try await queue.servedVersion(), JobQueue.schemaVersion)
      if let version {
        isServed =
          version > program ? try await queue.servesThisProgram() : version == program
      }
      return [CheckVerdicts.schema(version: version, program: program, isServed: isServed)]
    }
    var known = CheckVerdicts.KnownStores()
    guard isServed, may else { return (findings, known) }
    await ask("stores", &findings) {
      known.pool = try await queue.poolID()
      known.rows = try await queue.stores()
      return []
    }
    await ask("queues", &findings) {
      let rows = try await queue.queues()
      let troubles = try await troubles(of: rows)
      for row in rows where row.workers == 0 || troubles[row.queue]?.store != nil {
        told.insert("stranded_lanes \(row.queue)")
      }
      let mounted = (known.rows ?? []).filter { $0.workers > 0 }.map(\.store)
      return CheckVerdicts.queues(rows, mounted: Set(mounted), troubles: troubles)
    }
    await ask("failures", &findings) { CheckVerdicts.failures(try await queue.recentFailures()) }
    await ask("files", &findings) {
      CheckVerdicts.files(try await queue.digestCounts(), known.rows ?? [])
    }
    await ask("vitals", &findings) {
      CheckVerdicts.vitals(try await queue.vitals(), told: told)
    }
    await ask("health", &findings) { CheckVerdicts.health(try await queue.health()) }
    return (findings, known)
  }

  /// Returns problems of the queues that `rows` do not show. Examines the jobs of queues that have no worker or that have
  /// scheduled jobs.
  private func troubles(
    of rows: [QueueRow]
  ) async throws -> [String: CheckVerdicts.QueueTrouble] {
    var troubles: [String: CheckVerdicts.QueueTrouble] = [:]
    for (queue, store) in try await queue.closedQueues() {
      troubles[queue] = CheckVerdicts.QueueTrouble(store: store)
    }
    for row in rows where row.scheduled > 0 || row.workers == 0 {
      var selector = JobSelector()
      selector.queue = row.queue
      let counts = [(JobState.queued, Int(row.queued)), (.scheduled, Int(row.scheduled))]
      let found = try await queue.causes(of: selector, counts: counts)
      troubles[row.queue, default: .init()].obstacles = found.causes.causes
      troubles[row.queue, default: .init()].isWhole = found.isWhole
    }
    return troubles
  }

  /// Adds the findings of `question`, or a finding that says why the question failed.
  private func ask(
    _ what: String, _ findings: inout [CheckFinding], _ question: () async throws -> [CheckFinding]
  ) async {
    do {
      findings += try await question()
    } catch let error as PostgresError where error.sqlState == .insufficientPrivilege {
      findings.append(
        .warn(
          what, "this user is not allowed to see this information",
          "Connect as a user that has the monitor role."))
    } catch {
      let reason = describe(error)
      findings.append(.fail(what, reason, "Repair this problem, then run 'haul check' again."))
    }
  }
}
