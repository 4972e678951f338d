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

/// What `haul up` is to run, and where files land.
package struct UpConfiguration: Sendable {
  /// The directory of the store ``UpRun/store``, made where it is missing; nil for the one it had before, or for one here
  /// the first time.
  package var directory: String?
  package var workers: Int
  /// Jobs at once of each worker.
  package var concurrency: Int
  /// Blocks of addresses allowed besides the public ones.
  package var allowedNetworks: [CIDR]
  /// The most bytes a second that are read of all files together; nil for no limit.
  package var rateLimit: RateLimit?
  /// What goes along with the workers' requests, and the way they take.
  package var requests = RequestSettings()
  /// The program's version.
  package var version: String

  /// An order made of its parts.
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

/// One `haul up`: the local pool that stays, with a coordinator and workers in this process.
///
/// All of it is one process, so that no part of it can be left behind by a crash; a worker that can be killed alone is
/// a `haul worker` on the same database.
package final class UpRun: Sendable {
  /// The store that files land in. Its queue `default` takes what is submitted without naming one.
  package static let store = "main"

  /// What a run tells while it goes on.
  package enum Event: Sendable {
    case database(EmbeddedCluster.Step)
    /// Everything is there; `directory` is the store's, absolute.
    /// A host without a policy of its own may see `perHost` transfers at once.
    case ready(conninfo: String, directory: String, perHost: Int)
    /// Unfinished jobs have part files in another directory of the store. Here they restart from zero.
    case interruptedElsewhere(jobs: Int, directory: String)
    /// A lease of one of its workers has ended.
    case settled(SettledLease)
    /// An operator drained all workers. No worker is left, so the run ends.
    case drained
    /// Workers and coordinator have ended, and the database was let go.
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

  /// A run that has not begun. `logger` makes one for `coordinator`, `worker-1`, …; `observe` is called on Swift threads.
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

  /// Drains the workers, then ends the coordinator; ``run()`` then returns. Where the database is not there yet, it is
  /// waited for no longer, and ``run()`` throws. From any thread; again is no error.
  package func stop() {
    let (coordinator, workers) = state.withLock { state in
      state.isStopped = true
      return (state.coordinator, state.workers)
    }
    opening.cancel()
    workers.forEach { $0.drain() }
    if workers.isEmpty { coordinator?.stop() }
  }

  /// See ``PoolWorker/suspend()``.
  package func suspend() { state.withLock { $0.workers }.forEach { $0.suspend() } }

  /// Lets the database go at once, for a process that ends without waiting for anything else.
  package func abandon() { opening.abandon() }

  /// Runs until ``stop()``, or until all workers were drained by an operator.
  ///
  /// - Throws: `EmbeddedPostgresError`, `PostgresError`, `StoreError`, `StandingStoreGone`, `DescriptorLimit.TooLow`; `JobQueueError`, also `busy` where another such
  ///   run has the cluster: two of them could let files land in two places.
  package func run() async throws {
    // Without a word of its user the data say which directory it is, once there are any.
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
        "'haul up' already runs with the data in \(location.directory)",
        hint: "Add workers to it with 'haul worker --store \(Self.store)=DIR'")
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

  /// Makes the directory the store, and returns its absolute path, and how many transfers a host may see.
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

  /// Until all have ended; where one fails the others are drained.
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
