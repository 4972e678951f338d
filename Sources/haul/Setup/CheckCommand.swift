import Arguments
import Checks
import HaulSystem
import HaulTransfer
import JobQueue
import Postgres
import Stores
import Terminal
import Worker

struct CheckCommand: HaulCommand {
  static let name = "check"
  static let abstract =
    "Check the database, schema, permissions, stores and clock, and say what to do."
  static let discussion = """
    Haul prints one line for each finding. The line 'pool' shows the database and its server. The line 'roles' \
    says what your login may do. Each line says ok, warn or fail. Below a line with warn or fail, Haul says \
    what to do. Haul exits with 0 if no line says fail. Otherwise it exits with 78, or with the code of the \
    error if the connection failed. The command changes nothing, except that it creates and removes a small \
    file below .haul in a store. To check queues and health, Haul reads the whole pool, which takes a while \
    with millions of jobs.

    Without --store Haul checks the stores that were initialised on this machine.
    """
  static let examples = [
    Example("haul check", "Checks the database and the stores of this machine."),
    Example(
      "haul check --store films=/srv/films", "Checks whether a worker could serve this directory."),
  ]
  static let options: [Option<Self>] =
    [
      .values(
        "store", "<name=dir>", \.stores, environment: "HAUL_STORES",
        "A store and the directory where it is mounted. You can repeat the option."
      ).from(.mounts("store"))
    ] + group(\.output) + group(\.database)

  var stores: [MountArgument] = []
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    var findings: [CheckFinding] = []
    var code = ExitCode.configuration
    var known = CheckVerdicts.KnownStores()
    do {
      let (found, stores, isShared) = try await database.withConnection { connection in
        let (found, stores) = await DatabaseCheck(queue: JobQueue(connection)) {
          ExitError(from: $0).message ?? ""
        }.run()
        return (found, stores, connection.isShared)
      }
      findings += found
      if isShared { findings.append(CheckVerdicts.pooler(hasSessions: try await hasSessions())) }
      known = stores
    } catch {
      let reason = ExitError(from: error)
      code = reason.code
      findings.append(
        .fail(
          "connection", reason.message ?? "",
          stores.isEmpty
            ? "Haul cannot find the stores of this machine without the database. It still checks the stores that you give with --store."
            : "Haul checks the stores without the database."))
    }
    // The line about the pool comes first, because it is the most important.
    findings.insert(
      CheckVerdicts.libraries(.linked, libpq: PostgresLibrary.version),
      at: findings.first?.what == "pool" ? 1 : 0)
    findings += lookAtStores(known)
    try report(findings)
    if findings.contains(where: { $0.verdict == .fail }) { throw ExitError(code) }
  }

  /// Returns whether the pooler that was found gives each client its own session.
  private func hasSessions() async throws -> Bool {
    do {
      try await database.inSession.withConnection { _ in }
      return true
    } catch PostgresError.noSession {
      return false
    }
  }

  /// Checks the named stores, or the stores that the database knows on this machine.
  private func lookAtStores(_ known: CheckVerdicts.KnownStores) -> [CheckFinding] {
    if !stores.isEmpty {
      return stores.flatMap {
        CheckVerdicts.store(StoreProbe.look(at: $0.mount, pool: known.pool), known)
      }
    }
    return (known.rows ?? []).filter { $0.machine == PoolWorker.machine }.flatMap { row in
      let probe = StoreProbe.look(
        at: StoreMount(name: row.store, directory: row.root), pool: known.pool)
      return CheckVerdicts.recorded(row, marker: probe.marker).map { [$0] }
        ?? CheckVerdicts.store(probe, known)
    }
  }

  private func report(_ findings: [CheckFinding]) throws {
    let lines = findings.map {
      output.isJSON
        ? OutputOptions.json($0.members) : ConnectedPool.advice($0.text(on: OutputOptions.screen))
    }
    try StandardStream.output.write(lines.joined())
  }
}
