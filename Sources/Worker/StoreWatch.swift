import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import Log
import Stores
import Synchronization

/// Prevents a worker from claiming jobs for a store that cannot accept their files, because its disk is full, hangs or cannot
/// be written.
///
/// It checks a store after a job failed because of the store's disk, regularly while jobs write to it, and while it is closed.
final class StoreWatch: Sendable {
  /// The time between checks of stores in use.
  static let interval = Duration.seconds(5)
  /// The time after which an unfinished check means that the disk hangs.
  static let patience = Duration.seconds(10)

  private struct State {
    var standing: [String: StoreHealth] = [:]
    /// The callers that wait for the current check. The key is the store.
    var looking: [String: [OneShot<StoreTrouble?>]] = [:]
    /// Why each store counts as a copy of another worker's store. The key is the store.
    var copied: [String: String] = [:]
  }

  private let stores: OpenStores
  private let pool: String
  private let runningJobs: RunningJobs
  private let database: Database
  private let logger: Logger
  private let slots: TransferSlots
  private let onClosed: (@Sendable (String, String) -> Void)?
  private let onChange: @Sendable () -> Void
  private let state = Mutex(State())

  /// Creates a watch. `onClosed` and `onChange` are called on a Swift thread. After `onChange` there may be jobs to claim.
  init(
    _ stores: OpenStores, pool: String, runningJobs: RunningJobs, slots: TransferSlots,
    database: Database,
    logger: Logger, onClosed: (@Sendable (_ store: String, _ reason: String) -> Void)?,
    onChange: @escaping @Sendable () -> Void
  ) {
    self.stores = stores
    self.pool = pool
    self.runningJobs = runningJobs
    self.database = database
    self.logger = logger
    self.slots = slots
    self.onClosed = onClosed
    self.onChange = onChange
  }

  /// Checks the store if it may have caused a failure of this class. Returns true if the store is closed and the database knows
  /// that, or if the store has been opened again since the failed job began with `used`.
  ///
  /// If the process had no file descriptor left, this closes the store without a check: opening may work again by now, and the
  /// job was not the cause.
  func closes(_ used: Store?, after error: ErrorClass) async -> Bool {
    guard let error = TransferError.Class(rawValue: error.rawValue), let used,
      let store = stores[used.name]
    else { return false }
    if store.root !== used.root { return true }
    let trouble: StoreTrouble? =
      switch error {
      case .diskFull, .io, .notPermitted: await look(at: store, forRoom: error == .diskFull)
      case .openFiles: .openFiles
      default: nil
      }
    guard let trouble else { return false }
    await close(store.name, because: trouble)
    return true
  }

  /// Closes the stores that were full when they were opened. Call this before the worker claims any job.
  func closeFull() async {
    for store in stores.all where store.wasFull { await close(store.name, because: .full) }
  }

  /// Closes a store whose directory is a copy of another worker's directory. If `original` is nil, the store may open again.
  func setCopied(_ name: String, of original: (worker: Int64, machine: String)?) async {
    let reason = original.flatMap { original in
      stores[name].map { $0.copied(of: "worker \(original.worker) (\(original.machine))") }
    }
    state.withLock { $0.copied[name] = reason }
    if let reason { await close(name, because: .unwritable(reason)) }
  }

  /// Checks stores in use and closed ones until the task is cancelled.
  func run() async {
    while (try? await Task.sleep(for: Self.interval)) != nil {
      let inUse = Set(runningJobs.running.map(\.lease.store))
      for store in stores.all {
        let name = store.name
        let standing = state.withLock { $0.standing[name] ?? StoreHealth() }
        guard standing.trouble != nil || inUse.contains(name), standing.isDue(now: .now) else {
          continue
        }
        if let trouble = await look(
          at: store, forRoom: standing.trouble == .full, mayReopen: standing.trouble != nil)
        {
          await close(name, because: trouble)
        } else if state.withLock({ $0.standing[name]?.open(now: .now) ?? false }) {
          logger.info(.storeOpened, (.store, LogValue(name)))
          await tell(name, nil)
          onChange()
        }
      }
    }
  }

  /// Returns why results cannot be written to the store, or nil if they can. Calls during a check share its result. With
  /// `mayReopen`, opens a store again if its mount is back.
  private func look(
    at store: Store, forRoom: Bool, mayReopen: Bool = false
  ) async -> StoreTrouble? {
    await withCheckedContinuation { continuation in
      let answer = OneShot(continuation)
      let isFirst = state.withLock { state in
        state.looking[store.name, default: []].append(answer)
        return state.looking[store.name]?.count == 1
      }
      if isFirst {
        store.io.submit {
          let trouble = self.trouble(of: store, forRoom: forRoom, mayReopen: mayReopen)
          for answer in self.state.withLock({ $0.looking.removeValue(forKey: store.name) ?? [] }) {
            answer.resume(returning: trouble)
          }
        }
      }
      Task {
        try? await Task.sleep(for: Self.patience)
        answer.resume(returning: .hangs)
      }
    }
  }

  /// Returns why the store cannot be written; nil if it can. Blocks while the disk blocks.
  private func trouble(of store: Store, forRoom: Bool, mayReopen: Bool) -> StoreTrouble? {
    if let reason = state.withLock({ $0.copied[store.name] }) { return .unwritable(reason) }
    var store = store
    if !store.isInPlace {
      guard mayReopen, let new = stores.reopen(store) else {
        return .unwritable(store.displacement)
      }
      store = new
    }
    return store.trouble(forRoom: forRoom, pool: pool)
  }

  private func close(_ name: String, because trouble: StoreTrouble) async {
    let isNews = state.withLock { state in
      state.standing[name, default: StoreHealth()].close(because: trouble, now: .now)
    }
    guard isNews else { return }
    if trouble == .hangs {
      // Jobs that wait for this disk must not block slots and host connections that other jobs could use.
      for run in runningJobs.running where run.lease.store == name {
        run.waitsForDisk = true
        slots.leave(run.lease.token)
      }
    }
    let reason = trouble.description
    logger.warning(.storeClosed, (.store, LogValue(name)), (.reason, LogValue(reason)))
    onClosed?(name, reason)
    await tell(name, reason)
    onChange()
  }

  /// The stores whose disk hangs.
  var hanging: Set<String> {
    state.withLock { state in
      Set(state.standing.lazy.filter { $0.value.trouble == .hangs }.map(\.key))
    }
  }

  /// Returns once the database knows the state of the store. Gives up if the task is cancelled.
  private func tell(_ name: String, _ reason: String?) async {
    let caller = database.caller
    try? await database.persist { try await $0.closeStore(caller, name, because: reason) }
  }
}

extension Store {
  /// Returns why the pool's results cannot be written; nil if they can. Reasons are a missing right, a small file that could
  /// not be written and synced or, with `forRoom`, too little free space. Blocks while the disk blocks.
  func trouble(forRoom: Bool, pool: String) -> StoreTrouble? {
    do throws(StoreError) {
      try Self.requireRight(to: root, directory, pools: [pool])
    } catch {
      return .unwritable("\(error)")
    }
    do throws(TransferError) {
      try root.makeDirectories(".haul").probeWriting()
      let space = try root.space()
      return forRoom && space.free < Self.reserve(of: space.total) ? .full : nil
    } catch {
      return switch error.errorClass {
      case .diskFull: .full
      case .openFiles: .openFiles
      default: .unwritable(error.message)
      }
    }
  }

  /// Returns the free space in bytes below which a disk counts as full if a file did not fit: 5 % of the disk, at most 1 GiB.
  static func reserve(of total: Int64) -> Int64 { min(total / 20, 1 << 30) }
}
