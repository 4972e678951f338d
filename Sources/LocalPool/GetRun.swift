package import EmbeddedPostgres
import FoundationEssentials
package import HaulTransfer
package import JobModel
package import JobQueue
package import Log
import Postgres
import Stores
import Synchronization
package import Worker

/// The configuration of one run of `haul get`: what to download, and where to.
package struct GetConfiguration: Sendable {
  package var lines: [SubmitLine]
  /// The directory for the files. Haul creates it if it is missing.
  package var directory: String
  /// The maximum number of concurrent transfers, in total and per host.
  package var concurrency: Int
  package var options: JobOptions
  /// The address blocks that a redirect may lead to, in addition to public addresses.
  package var allowedNetworks: [CIDR]
  /// The limit in bytes per second for all files together; nil for no limit.
  package var rateLimit: RateLimit?
  /// The settings for the requests, such as logins, cookies and proxies.
  package var requests = RequestSettings()
  /// The program's version.
  package var version: String

  /// Creates a configuration.
  package init(
    lines: [SubmitLine], directory: String, concurrency: Int, options: JobOptions,
    allowedNetworks: [CIDR], rateLimit: RateLimit?, version: String
  ) {
    self.lines = lines
    self.directory = directory
    self.concurrency = concurrency
    self.options = options
    self.allowedNetworks = allowedNetworks
    self.rateLimit = rateLimit
    self.version = version
  }
}

/// A run of `haul get`. It has its own queue in the local pool, and a worker in this process that empties the queue.
///
/// Earlier runs may have left unfinished files in the directory. If the list of this run contains such a file, the run
/// continues the download. The run leaves all other unfinished files unchanged, because no worker serves the queues of earlier
/// runs.
package final class GetRun: Sendable {
  /// An event of a run.
  package enum Event: Sendable {
    case database(EmbeddedCluster.Step)
    /// All lines are in the queue, as `jobs` jobs. `finished` are the lines whose files an earlier run downloaded; these lines
    /// do not become jobs. `goingOn` is the number of unfinished jobs of earlier runs that this run continues.
    case submitted(jobs: Int, finished: [FinishedLine], goingOn: Int)
    case settled(SettledLease)
    /// Haul cannot write to the directory. The sentence gives the reason. The run ends as if ``GetRun/stop()`` was called.
    case directoryClosed(String)
  }

  private struct State {
    var worker: PoolWorker?
    var isStopped = false
  }

  private let order: GetConfiguration
  private let directory: NamedDirectory
  private let location: ClusterLocation
  private let logger: Logger
  private let observe: @Sendable (Event) -> Void
  private let opening = PoolOpening()
  private let state = Mutex(State())

  /// Creates a run without starting it. `observe` is called on threads of Swift concurrency.
  package init(
    _ order: GetConfiguration, at location: ClusterLocation, logger: Logger,
    observe: @escaping @Sendable (Event) -> Void
  ) {
    self.order = order
    directory = NamedDirectory(
      order.directory, advice: "name another directory with --dir DIR")
    self.location = location
    self.logger = logger
    self.observe = observe
  }

  /// The running transfers, unsorted.
  package var transfers: [RunningTransfer] { state.withLock { $0.worker }?.transfers ?? [] }

  /// Ends the run and saves the progress of the downloads, so that a later run can continue. If the database is not ready yet,
  /// ``run()`` stops waiting and throws. You may call this from any thread and repeatedly.
  package func stop() {
    opening.cancel()
    state.withLock { state in
      state.isStopped = true
      return state.worker
    }?.drain()
  }

  /// Pauses the transfers because the process is about to be suspended until SIGCONT: see ``PoolWorker/suspend()``.
  package func suspend() { state.withLock { $0.worker }?.suspend() }

  /// Releases the database immediately, for a process that ends without waiting for anything else.
  package func abandon() { opening.abandon() }

  /// Runs until every job has ended or ``stop()`` is called. Files are durable when their `settled` event arrives.
  ///
  /// - Throws: `EmbeddedPostgresError`, `PostgresError`, `JobQueueError`, `StoreError`, `DescriptorLimit.TooLow`. A failed job
  ///   is not an error.
  package func run() async throws {
    try directory.requireRight()
    try DescriptorLimit.raise(leases: openLeases)
    try await opening.withPool(
      database: LocalPool.getDatabase, at: location,
      observe: { [observe] in observe(.database($0)) }, run(in:))
  }

  private func run(in pool: LocalPool) async throws {
    let queue = JobQueue(pool.connection)
    let id = try await queue.poolID()
    let directory = try DownloadDirectory(directory, pool: id)
    do {
      try await fill(directory, queue, pool)
      directory.leave(pool: id)
    } catch {
      directory.leave(pool: id)
      throw error
    }
    await pool.connection.close()
  }

  private func fill(
    _ directory: DownloadDirectory, _ queue: JobQueue, _ pool: LocalPool
  ) async throws {
    let name = "get-" + String(UInt64.random(in: 1 << 60...UInt64.max), radix: 16)
    // Use one commit for the store, the queue and the limit.
    try await pool.connection.transaction { [leases] connection in
      let queue = JobQueue(connection)
      _ = try await queue.initStore(
        name: directory.store, marker: directory.marker, machine: PoolWorker.machine,
        root: directory.path)
      try await queue.createQueue(name, store: directory.store)
      try await queue.setHost("*", cap: leases)
    }
    let worker = try makeWorker(directory, queue: name, pool)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [observe] in try await pool.keepServing { observe(.database($0)) } }
      // The worker starts while the lines are being submitted.
      group.addTask {
        // The next run continues the jobs that this run could not give back.
        do { try await worker.run() } catch is DrainTimeout {}
      }
      do {
        try await submit(to: name, in: directory, queue)
      } catch {
        worker.drain()
        throw error
      }
      worker.stopWhenIdle()
      // If this call returns, the worker has ended: the other task ends only with an error.
      try await group.next()
      group.cancelAll()
    }
  }

  /// The maximum number of leases. The worker claims many jobs in one call, because a small file takes less time than a call to
  /// the database. The cap of each host is as high as this number, because jobs that publish their files or wait for their turn
  /// also count against the cap. The worker itself still limits the transfers per host to the concurrency, because no other
  /// worker serves its queue.
  private var leases: Int { order.concurrency + min(6 * order.concurrency, 128) }

  /// The maximum number of leases with open files. Jobs that wait for their turn have no open files.
  private var openLeases: Int { order.concurrency + min(2 * order.concurrency, 64) }

  private func makeWorker(
    _ directory: DownloadDirectory, queue: String, _ pool: LocalPool
  ) throws(StoreError) -> PoolWorker {
    var configuration = WorkerConfiguration(
      conninfo: pool.conninfo, stores: [directory.mount], queues: [queue],
      concurrency: order.concurrency, leases: leases, allowedNetworks: order.allowedNetworks,
      version: order.version)
    configuration.rateLimit = order.rateLimit
    configuration.requests = order.requests
    configuration.allowsOwnOrigins = true
    // No command verifies the files of this pool later.
    configuration.recordsDigests = false
    configuration.onSettled = { [observe] in observe(.settled($0)) }
    configuration.onStoreClosed = { [observe, weak self] _, reason in
      observe(.directoryClosed(reason))
      self?.stop()
    }
    let worker = try PoolWorker(configuration, logger: logger)
    let isStopped = state.withLock { state in
      state.worker = worker
      return state.isStopped
    }
    if isStopped { worker.drain() }
    return worker
  }

  private func submit(
    to queueName: String, in directory: DownloadDirectory, _ queue: JobQueue
  ) async throws {
    let verifier = try directory.verifier()
    let reply = try await queue.resubmit(
      Submission(queue: queueName, batch: queueName, options: order.options), order.lines,
      isDone: { await directory.holds($0, verifier) })
    observe(
      .submitted(
        jobs: reply.submitted + reply.takenOver, finished: reply.finished,
        goingOn: reply.unfinished))
  }
}
