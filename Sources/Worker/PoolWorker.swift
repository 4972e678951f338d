import Glibc
import HaulTransfer
import JobQueue
package import Log
import Maintenance
import Postgres
package import Stores
import Synchronization

/// A worker of a pool. The worker claims jobs, downloads their files, and gives interrupted jobs to other workers.
///
/// A worker can also lead the pool and run the maintenance of the pool (`Leadership`), so a pool needs no coordinator.
package final class PoolWorker: Sendable {
  private struct State {
    var loop: WorkLoop?
    var hook: CompletionHook?
    var keeper: LeaseKeeper?
    /// The task that runs until the last lease has ended; nil before the worker starts.
    var work: Task<Void, any Error>?
    var isDraining = false
    /// Whether this process called ``drain()`` and waits for the end.
    var isToldToEnd = false
    var stopsWhenIdle = false
    var hasGivenUp = false

    var isHopeless: Bool { isToldToEnd && keeper?.isFenced == true }
  }

  /// How long a draining worker still waits for the database after its leases may have expired.
  private static let lastHope = Duration.seconds(5)

  private let configuration: WorkerConfiguration
  private let logger: Logger
  private let stores: OpenStores
  private let state = Mutex(State())

  /// Creates a worker and opens its stores. ``run()`` starts the worker.
  /// - Throws: `StoreError` for a directory that has no marker file or cannot be written.
  package init(_ configuration: WorkerConfiguration, logger: Logger) throws(StoreError) {
    self.configuration = configuration
    self.logger = logger
    let threads = min(max(configuration.concurrency, 4), 16)
    stores = try OpenStores(configuration.stores, ioThreads: threads)
  }

  /// Stops the worker gracefully: it claims no more jobs, saves the durable progress and gives all jobs back. ``run()`` then
  /// returns.
  ///
  /// Call this from any thread; a second call is not an error. If the database is unreachable, the worker waits for the
  /// database until 5 seconds after the worker's leases have expired.
  package func drain() {
    state.withLock { $0.isToldToEnd = true }
    drainAsTold()
    giveUpWhereFenced()
  }

  /// Drains the worker. Unlike after ``drain()``, a worker that was drained only by the database's request waits for the
  /// database without a time limit.
  private func drainAsTold() {
    let (loop, hook) = state.withLock { state in
      defer { state.isDraining = true }
      return (state.loop, state.isDraining ? nil : state.hook)
    }
    loop?.drain()
    hook?.hurry()
  }

  /// Ends a draining worker whose leases may have expired, because it can no longer save results. The function first waits
  /// ``lastHope`` and checks again: after a process was stopped and continued, the next heartbeat confirms the leases.
  private func giveUpWhereFenced() {
    guard state.withLock(\.isHopeless) else { return }
    Task {
      try? await Task.sleep(for: Self.lastHope)
      let (work, loop) = state.withLock { state -> (Task<Void, any Error>?, WorkLoop?) in
        guard state.isHopeless else { return (nil, nil) }
        state.hasGivenUp = true
        return (state.work, state.loop)
      }
      work?.cancel()
      // The loop may be waiting, and then does not notice the cancellation.
      loop?.claimSoon()
    }
  }

  /// Pauses the transfers with their sockets open, because the process is about to be suspended (Ctrl-Z). The pause does not
  /// count as a slow source. After SIGCONT the transfers continue without a further call. If the leases of the jobs have
  /// expired, the jobs restart from the durable bytes.
  package func suspend() { state.withLock { $0.keeper }?.suspend() }

  /// Makes ``run()`` return when the worker's queues have no jobs left, as with ``WorkerConfiguration/exitWhenIdle``.
  package func stopWhenIdle() {
    state.withLock { state in
      state.stopsWhenIdle = true
      return state.loop
    }?.stopWhenIdle()
  }

  /// The jobs that the worker is transferring or publishing now, unsorted.
  package var transfers: [RunningTransfer] {
    let runs = state.withLock { $0.loop }?.running ?? []
    return runs.filter(\.hasBegun).map(\.snapshot)
  }

  /// Runs the worker until it is drained or, if so configured, until no job is left.
  ///
  /// The function first registers the worker in the database.
  /// - Throws: `PostgresError`, `JobQueueError` or `TransferError` at the start; ``DrainTimeout`` if the worker was drained but
  ///   could not reach the database in time. Later database errors are not thrown: the worker waits until they pass.
  package func run() async throws {
    let parts = try await assemble()
    begin(parts)
    let work = Task { try await Self.work(parts) }
    state.withLock { $0.work = work }
    let (ended, isEmpty) = await Self.serve(parts, until: work)
    let hasGivenUp = state.withLock { $0.hasGivenUp }
    await parts.signs?.remove()
    await parts.engine.shutdown()
    await parts.hook?.finish()
    if case .failure(let error) = ended, !hasGivenUp { throw error }
    parts.logger.info(.workerStopped)
    if case .failure = ended, !isEmpty { throw DrainTimeout() }
  }

  /// The parts of a registered worker.
  private struct Parts: Sendable {
    let worker: Int64
    let logger: Logger
    let engine: Engine
    let runningJobs: RunningJobs
    let keeper: LeaseKeeper
    let database: Database
    let watch: StoreWatch
    let silence: SilenceWatch
    let hook: CompletionHook?
    let loop: WorkLoop
    let janitor: Janitor
    let signs: SignWatch?
    let leadership: Leadership
    let onStarted: (@Sendable () -> Void)?
  }

  /// Registers the worker and creates the parts without starting them.
  private func assemble() async throws -> Parts {
    let sent = ContinuousClock.now
    // Open the first connection for work here, so that errors show immediately.
    let connection = try await Connection.connect(
      Database.workConfiguration(configuration))
    let registration = try await register(over: connection)
    let logger = logger.with((.worker, LogValue(registration.worker)))
    logger.info(
      .workerRegistered, (.machine, LogValue(Self.machine)), (.pid, LogValue(getpid())),
      (.count, LogValue(configuration.concurrency)))

    let engine = try Engine(engineConfiguration)
    let runningJobs = RunningJobs()
    let keeper = makeKeeper(runningJobs, registered: sent, logger)
    let database = makeDatabase(connection, registration, keeper, logger)
    let slots = TransferSlots(configuration.concurrency)
    let watch = StoreWatch(
      stores, pool: registration.pool, runningJobs: runningJobs, slots: slots, database: database,
      logger: logger,
      onClosed: configuration.onStoreClosed,
      onChange: { [weak self] in self?.state.withLock { $0.loop }?.claimSoon() })
    let silence = SilenceWatch(
      runningJobs, slots: slots,
      onChange: { [weak self] in self?.state.withLock { $0.loop }?.claimSoon() })
    let environment = RunEnvironment(
      engine: engine, stores: stores, pool: registration.pool,
      allowsOwnOrigins: configuration.allowsOwnOrigins,
      recordsDigests: configuration.recordsDigests,
      credentials: configuration.requests.credentials,
      checkpoints: CheckpointWriter(database),
      slots: slots, watch: watch, keeper: keeper, logger: logger)
    let hook = configuration.onComplete.map {
      CompletionHook($0, stores: configuration.stores, logger: logger)
    }
    return Parts(
      worker: registration.worker, logger: logger, engine: engine, runningJobs: runningJobs,
      keeper: keeper, database: database, watch: watch,
      silence: silence, hook: hook,
      loop: WorkLoop(
        database, configuration, runningJobs: runningJobs, environment: environment, hook: hook,
        logger: logger),
      janitor: Janitor(
        database: database, stores: stores, registration: registration, logger: logger),
      signs: configuration.signsStores
        ? SignWatch(database, stores, registration, watch: watch) : nil,
      leadership: Leadership(lock: database.control, work: database.work, logger: logger),
      onStarted: configuration.onStarted)
  }

  /// Makes the parts visible to other threads, and passes on calls of ``drain()`` and ``stopWhenIdle()`` that came before the
  /// parts existed.
  private func begin(_ parts: Parts) {
    let (isDraining, stopsWhenIdle) = state.withLock { state in
      state.loop = parts.loop
      state.hook = parts.hook
      state.keeper = parts.keeper
      return (state.isDraining, state.stopsWhenIdle)
    }
    if isDraining {
      parts.loop.drain()
      parts.hook?.hurry()
    }
    if stopsWhenIdle { parts.loop.stopWhenIdle() }
  }

  /// Claims jobs and reports their ends until the last lease has ended.
  private static func work(_ parts: Parts) async throws {
    // Run the first round of maintenance before the first claim. If maintenance was interrupted before this round and leases
    // exist, the leader rescues no jobs for 15 seconds. This worker's own leases must not cause that delay.
    await parts.leadership.runRound()
    parts.logger.info(.workerStarted)
    parts.onStarted?()
    await parts.watch.closeFull()
    try await parts.loop.run()
    await parts.janitor.sweep()
    // No lease of this worker is left in the database: report that the worker has stopped.
    let database = parts.database
    try? await database.queue { try await $0.stopWorker(database.caller) }
  }

  /// Runs heartbeats, maintenance and watches until `work` has ended. Returns how `work` ended, and whether no job is left.
  private static func serve(
    _ parts: Parts, until work: Task<Void, any Error>
  ) async -> (ended: Result<Void, any Error>, isEmpty: Bool) {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await parts.keeper.run(parts.database) }
      group.addTask { await parts.keeper.watch() }
      group.addTask { await parts.leadership.run(from: .now + Leadership.round) }
      group.addTask { await parts.janitor.run() }
      group.addTask { await parts.signs?.run() }
      group.addTask { await parts.watch.run() }
      group.addTask { await parts.silence.run() }
      group.addTask {
        await listen(parts.database, parts.loop, parts.keeper, worker: parts.worker)
      }
      let ended = await withTaskCancellationHandler {
        await work.result
      } onCancel: {
        work.cancel()
        parts.loop.claimSoon()
      }
      let isEmpty = parts.runningJobs.isEmpty
      // Cancel before the keeper wakes. Otherwise it would send one more heartbeat and wait for the next.
      group.cancelAll()
      parts.keeper.close()
      await parts.database.close()
      return (ended, isEmpty)
    }
  }

  /// Checks the schema and registers.
  private func register(over connection: Connection) async throws -> Registration {
    let queue = JobQueue(connection)
    try await queue.requireSchema()
    let registration = try await queue.register(
      program: configuration.version, machine: Self.machine, pid: Int(getpid()),
      concurrency: configuration.leases,
      stores: stores.all.map { .init(store: $0.name, marker: $0.marker) },
      queues: configuration.queues)
    let engine = engineConfiguration
    try await queue.tellReach(
      JobQueue.Caller(registration), schemes: engine.allowedSchemes.sorted(),
      networks: engine.addressPolicy.allowed.map(\.description))
    return registration
  }

  private var engineConfiguration: Engine.Configuration {
    var engine = Engine.Configuration()
    engine.addressPolicy = AddressPolicy(allowing: configuration.allowedNetworks)
    configuration.requests.apply(to: &engine, version: configuration.version)
    engine.maxConnections = configuration.concurrency * 2
    engine.rateLimit = configuration.rateLimit
    return engine
  }

  private func makeKeeper(
    _ runningJobs: RunningJobs, registered sent: ContinuousClock.Instant, _ logger: Logger
  ) -> LeaseKeeper {
    LeaseKeeper(
      runningJobs: runningJobs, registered: sent, expiry: .seconds(15), logger: logger,
      onDrain: { [weak self] in self?.drainAsTold() },
      onNews: { [weak self] in self?.state.withLock { $0.loop }?.claimSoon() },
      onFenced: { [weak self] in self?.giveUpWhereFenced() })
  }

  /// Creates the database sessions.
  ///
  /// - Parameter connection: the first connection for work.
  private func makeDatabase(
    _ connection: Connection, _ registration: Registration, _ keeper: LeaseKeeper, _ logger: Logger
  ) -> Database {
    Database(
      configuration, first: connection, caller: JobQueue.Caller(registration),
      logger: logger,
      observe: { event in
        switch event {
        case .connected(_, let again):
          if again { logger.info(.workerSessionRestored) }
          keeper.session(isThere: true)
        case .lost(let error):
          logger.warning(.workerSessionLost, (.reason, LogValue(error.description)))
          keeper.session(isThere: false)
        case .retrying: logger.log(event)
        }
      })
  }

  /// Handles notifications: new jobs to claim, or a command for this worker.
  private static func listen(
    _ database: Database, _ loop: WorkLoop, _ keeper: LeaseKeeper, worker: Int64
  ) async {
    for await message in database.control.notifications {
      switch message {
      case .renewed:
        loop.claimSoon()
        keeper.beatNow()
      case .notification(let notification):
        let parts = notification.payload.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { continue }
        let names = parts[1].split(separator: ",")
        switch parts[0] {
        case "queues": loop.claimAnnounced()
        case "workers" where names.contains("\(worker)"):
          keeper.beatNow()
        default: continue
        }
      }
    }
  }

  /// The host name of this machine, for the database views.
  package static let machine: String = {
    var name = [CChar](repeating: 0, count: 256)
    unsafe gethostname(&name, 255)
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }()
}

/// The error of a worker that was drained but could not reach the database in time, so that its leases may have expired. Other
/// workers continue its jobs from the saved bytes.
package struct DrainTimeout: Error, CustomStringConvertible {
  package let description =
    "while stopping, this worker could not reach the database; other workers take over its jobs"
}
