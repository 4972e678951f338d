package import EmbeddedPostgres
import FoundationEssentials
import HaulSystem
package import HaulTransfer
import JobQueue
package import Log
import Maintenance
import Postgres
import Stores
import Synchronization
package import Worker

/// The configuration of one run of `haul up`: what to run, and where files go.
package struct UpConfiguration: Sendable {
  /// The directory of the store ``UpRun/store``. Haul creates it if it is missing. If this property is nil, the run uses
  /// the directory of the last run. If there was no earlier run, it uses the directory `downloads` below the current directory.
  package var directory: String?
  package var workers: Int
  /// The maximum number of concurrent jobs of each worker.
  package var concurrency: Int
  /// The address blocks that downloads may connect to, in addition to public addresses.
  package var allowedNetworks: [CIDR]
  /// The limit in bytes per second for all files together; nil for no limit.
  package var rateLimit: RateLimit?
  /// The settings for the workers' requests, such as logins, cookies and proxies.
  package var requests = RequestSettings()
  /// The program's version.
  package var version: String

  /// Creates a configuration.
  package init(
    directory: String?, workers: Int, concurrency: Int, allowedNetworks: [CIDR],
    rateLimit: RateLimit?, version: String
  ) {
    self.directory = directory
    self.workers = workers
    self.concurrency = concurrency
    self.allowedNetworks = allowedNetworks
    self.rateLimit = rateLimit
    self.version = version
  }
}

/// A run of `haul up`: the permanent local pool, with a coordinator and workers in this process.
///
/// All parts run in one process, so a crash ends all of them. If you want a worker that can be killed separately, run `haul
/// worker` with the database of this pool.
package final class UpRun: Sendable {
  /// The name of the store for the files. Its queue `default` takes jobs that are submitted without a queue.
  package static let store = "main"

  /// An event of a run.
  package enum Event: Sendable {
    case database(EmbeddedCluster.Step)
    /// The run is ready. `directory` is the absolute path of the store's directory. A host for which no limit was set gets at
    /// most `perHost` concurrent transfers.
    case ready(conninfo: String, directory: String, perHost: Int)
    /// Unfinished jobs have part files in `directory`, another directory of the store. These jobs restart from byte 0 in the
    /// directory of this run.
    case interruptedElsewhere(jobs: Int, directory: String)
    /// The lease of a worker of this run has ended, and the job of the lease has a new state.
    case settled(SettledLease)
    /// An operator has drained all workers, which means that they have stopped gracefully. No worker is left, so the run ends.
    case drained
    /// The workers and the coordinator have ended, and the database is released.
    case closed
  }

  private struct State {
    var coordinator: PoolCoordinator?
    var workers: [PoolWorker] = []
    var isStopped = false
  }

  private let order: UpConfiguration
  private let location: ClusterLocation
  private let logger: @Sendable (_ component: String) -> Logger
  private let observe: @Sendable (Event) -> Void
  private let opening = PoolOpening()
  private let state = Mutex(State())

  /// Creates a run without starting it. `logger` returns the logger of the component `coordinator`, `worker-1` and so on.
  /// `observe` is called on threads of Swift concurrency.
  package init(
    _ order: UpConfiguration, at location: ClusterLocation,
    logger: @escaping @Sendable (_ component: String) -> Logger,
    observe: @escaping @Sendable (Event) -> Void
  ) {
    self.order = order
    self.location = location
    self.logger = logger
    self.observe = observe
  }

  /// Stops the run gracefully: drains the workers, then ends the coordinator. ``run()`` then returns. If the database is not
  /// ready yet, ``run()`` stops waiting and throws. You may call this from any thread and repeatedly.
  package func stop() {
    let (coordinator, workers) = state.withLock { state in
      state.isStopped = true
      return (state.coordinator, state.workers)
    }
    opening.cancel()
    workers.forEach { $0.drain() }
    if workers.isEmpty { coordinator?.stop() }
  }

  /// Pauses the transfers of all workers because the process is about to be suspended until SIGCONT: see
  /// ``PoolWorker/suspend()``.
  package func suspend() { state.withLock { $0.workers }.forEach { $0.suspend() } }

  /// Releases the database immediately, for a process that ends without waiting for anything else.
  package func abandon() { opening.abandon() }

  /// Runs until ``stop()`` is called, or until an operator has drained all workers.
  ///
  /// - Throws: `EmbeddedPostgresError`, `PostgresError`, `StoreError`, `StandingStoreGone`, `DescriptorLimit.TooLow`,
  ///   `JobQueueError`. The error is `JobQueueError.busy` if another `haul up` uses the cluster, because files could then go to
  ///   two directories.
  package func run() async throws {
    // If the user names no directory and a database exists, the path of the directory is in the database.
    if let chosen = order.directory ?? (location.isMade ? nil : UpStoreChoice.first) {
      try Self.named(chosen).requireRight()
    }
    try DescriptorLimit.raise(workers: order.workers, leases: order.concurrency)
    try await opening.withPool(
      database: LocalPool.standingDatabase, at: location,
      observe: { [observe] in observe(.database($0)) }, run(in:))
    observe(.closed)
  }

  private func run(in pool: LocalPool) async throws {
    let lock = try FileDescriptor.directory(location.directory)
    guard lock.lock(exclusive: true) else {
      throw JobQueueError.busy(
        "'haul up' is already running with the data in \(location.directory)",
        hint: "Add workers to that pool with 'haul worker --store \(Self.store)=DIR'")
    }
    let (directory, perHost) = try await initialiseStore(pool)
    let coordinator = PoolCoordinator(conninfo: pool.conninfo, logger: logger("coordinator"))
    let workers = try makeWorkers(pool, directory)
    let isStopped = state.withLock { state in
      state.coordinator = coordinator
      state.workers = workers
      return state.isStopped
    }
    if isStopped { stop() }
    observe(.ready(conninfo: pool.conninfo, directory: directory, perHost: perHost))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await coordinator.run() }
      if !workers.isEmpty {
        group.addTask { [self] in
          defer { coordinator.stop() }
          try await Self.run(workers)
          if state.withLock({ !$0.isStopped }) { observe(.drained) }
        }
      }
      do {
        try await group.waitForAll()
      } catch {
        stop()
        throw error
      }
    }
    withExtendedLifetime(lock) {}
  }

  private static func named(_ directory: String) -> NamedDirectory {
    NamedDirectory(directory, advice: "name another directory with --store DIR")
  }

  /// Initialises the directory as the store. Returns its absolute path, and the maximum number of transfers per host.
  private func initialiseStore(_ pool: LocalPool) async throws -> (String, perHost: Int) {
    let queue = JobQueue(pool.connection)
    let interrupted = try await queue.interruptedJobs()
    let instances = try await queue.stores().filter { $0.store == Self.store }.map {
      UpStoreChoice.Instance(
        id: $0.instance, marker: $0.marker, directory: $0.root,
        interrupted: interrupted[$0.instance] ?? 0)
    }
    let standing = UpStoreChoice(instances: instances) {
      try? Store.marker(StoreMount(name: Self.store, directory: $0))
    }
    let chosen = Self.named(try order.directory ?? standing.directory())
    try chosen.make()
    let (marker, directory) = try Store.initialise(chosen)
    _ = try await queue.initStore(
      name: Self.store, marker: marker, machine: PoolWorker.machine, root: directory)
    for other in standing.others(besides: marker) {
      observe(.interruptedElsewhere(jobs: other.interrupted, directory: other.directory))
    }
    let perHost = try await queue.usualHostCap()
    await pool.connection.close()
    return (directory, perHost)
  }

  private func makeWorkers(
    _ pool: LocalPool, _ directory: String
  ) throws(StoreError) -> [PoolWorker] {
    var configuration = WorkerConfiguration(
      conninfo: pool.conninfo, stores: [StoreMount(name: Self.store, directory: directory)],
      concurrency: order.concurrency, allowedNetworks: order.allowedNetworks,
      version: order.version)
    configuration.rateLimit = order.rateLimit
    configuration.requests = order.requests
    configuration.onSettled = { [observe] in observe(.settled($0)) }
    var workers: [PoolWorker] = []
    for number in 0..<order.workers {
      workers.append(try PoolWorker(configuration, logger: logger("worker-\(number + 1)")))
    }
    return workers
  }

  /// Runs until all workers have ended. If one fails, the others are drained.
  private static func run(_ workers: [PoolWorker]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { try await worker.run() } }
      do {
        try await group.waitForAll()
      } catch {
        workers.forEach { $0.drain() }
        throw error
      }
    }
  }
}
