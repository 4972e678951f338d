import Glibc
package import HaulSystem
package import HaulTransfer
import Synchronization

/// The outcome of giving a part file its final name.
package enum Published: Sendable, Equatable {
  case placed(RelativePath)
  /// Another file, of this length in bytes, already has the final name. That file was created after the transfer began, and
  /// stays.
  case skipped(bytes: Int64)
}

/// Makes several files durable together if they are published on one store at about the same time.
///
/// Haul syncs each file before the file gets its name, and syncs the directory afterwards. These two steps happen in two rounds
/// of syncs. A caller that arrives during a round waits for the next round, because the running round may have missed the
/// caller's writes. Each round thus serves all callers that arrived during the previous round. A round with at least 4 callers
/// syncs the whole file system once. A smaller round syncs each file and each directory once. A larger round does this too if a
/// sync of the whole file system has failed, or has taken longer than 500 ms, in the last 30 seconds.
package final class GroupCommit: Sendable {
  /// A file that has its final name in `parent`, although the name is not durable yet. `published` is nil if there was no part
  /// file.
  package typealias Named = (published: Published?, parent: Destination.Parent)
  /// Gives a durable file its final name, on a thread that may block. Returns nil if the worker must first confirm its lease.
  package typealias Naming = @Sendable () throws(TransferError) -> Named?

  package typealias SyncAll = @Sendable () throws(TransferError) -> Void
  package typealias SyncPart = @Sendable (PartFile) throws(TransferError) -> Void

  private enum Step {
    case part(PartFile, Naming)
    case named(Named)
  }

  private struct Waiter {
    var step: Step
    let continuation: CheckedContinuation<Result<Named?, TransferError>, Never>
  }

  private struct State {
    var waiting: [Waiter] = []
    /// Whether a round runs or is about to run.
    var isRunning = false
    var lastRound: ContinuousClock.Instant?
    /// Until this time, each file and directory is synced separately; nil if a sync of the whole file system is allowed now.
    var apart: ContinuousClock.Instant?
    /// The time when a sync of the whole file system last failed; nil if none has failed. The kernel reports each failure only
    /// once, so a later sync of everything proves nothing about files that were open at that time.
    var failed: ContinuousClock.Instant?
  }

  /// The minimum time from the beginning of one round to the beginning of the next, so that several callers share a round.
  private static let pace = Duration.milliseconds(3)
  /// From this number of files, one sync of everything costs less than separate syncs.
  private static let least = 4
  /// If a sync of everything takes longer than `patience`, it had to write a lot of other data. Then files and directories are
  /// synced separately for the time `restraint`.
  private static let patience = Duration.milliseconds(500)
  private static let restraint = Duration.seconds(30)

  private let syncAll: SyncAll?
  private let syncPart: SyncPart
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// Creates a commit group.
  ///
  /// - Parameters:
  ///   - syncAll: makes all writes to the file system durable; nil if the file system might not support it.
  ///   - syncPart: makes one file durable through the file's own descriptor.
  package init(
    syncAll: SyncAll?,
    syncPart: @escaping SyncPart = { (part) throws(TransferError) in try part.sync() },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.syncAll = syncAll
    self.syncPart = syncPart
    self.now = now
  }

  /// Creates the commit group for the store below `root`.
  package convenience init(root: FileDescriptor) {
    let syncAll: SyncAll = { () throws(TransferError) in try root.syncFileSystem() }
    self.init(syncAll: root.syncsFileSystem ? syncAll : nil)
  }

  /// Syncs `part`, gives the file its name, and syncs the directory. The file is durable on return. If `name` returns nil, only
  /// the bytes of the file are durable.
  package func publish(
    _ part: PartFile, on io: IOPool, naming name: @escaping Naming
  ) async throws(TransferError) -> Named? {
    try await run(.part(part, name), io)
  }

  /// Syncs the directory of a named file. The name is durable on return.
  package func sync(_ named: Named, on io: IOPool) async throws(TransferError) {
    guard named.published != nil else { return }
    _ = try await run(.named(named), io)
  }

  /// The number of callers that wait for the next round.
  package var waitingCount: Int { state.withLock { $0.waiting.count } }

  private func run(_ step: Step, _ io: IOPool) async throws(TransferError) -> Named? {
    let result = await withCheckedContinuation { continuation in
      enter(Waiter(step: step, continuation: continuation), io)
    }
    return try result.get()
  }

  private func enter(_ waiter: Waiter, _ io: IOPool) {
    let begins = state.withLock { state in
      state.waiting.append(waiter)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if begins { io.submit { self.rounds(io) } }
  }

  // MARK: - On a thread that may block

  /// Runs rounds while callers wait.
  private func rounds(_ io: IOPool) {
    while true {
      let (waiters, mayBeWhole) = begin()
      guard mayBeWhole, let syncAll, sync(with: syncAll) else { return syncApart(waiters, io) }
      for waiter in waiters {
        if case .named(let named) = waiter.step { named.parent.isDurable() }
        advance(waiter, after: lostWrite(of: waiter))
      }
      guard hasMore() else { return }
    }
  }

  /// Waits until the next round may start, and takes the callers that wait then.
  private func begin() -> (waiters: [Waiter], mayBeWhole: Bool) {
    if let last = state.withLock({ $0.lastRound }) {
      let rest = (last + Self.pace - now()) / .microseconds(1)
      if rest > 0 { usleep(UInt32(rest)) }
    }
    return state.withLock { state in
      defer { state.waiting = [] }
      let now = now()
      state.lastRound = now
      if let apart = state.apart, apart <= now { state.apart = nil }
      return (state.waiting, state.waiting.count >= Self.least && state.apart == nil)
    }
  }

  /// Whether another round must follow. If so, the caller begins it.
  private func hasMore() -> Bool {
    state.withLock { state in
      state.isRunning = !state.waiting.isEmpty
      return state.isRunning
    }
  }

  /// Syncs everything. Returns false if the sync failed. Separate syncs then show which file failed.
  private func sync(with syncAll: () throws(TransferError) -> Void) -> Bool {
    let began = now()
    let isDone = (try? syncAll()) != nil
    let ended = now()
    state.withLock { state in
      if !isDone || ended - began > Self.patience { state.apart = ended + Self.restraint }
      if !isDone { state.failed = ended }
    }
    return isDone
  }

  /// Returns why a file is not durable although a sync of everything succeeded, or nil if it is durable. A file that was open
  /// when an earlier sync failed may have lost writes, and only its own descriptor shows that.
  private func lostWrite(of waiter: Waiter) -> TransferError? {
    guard case .part(let part, _) = waiter.step, let failed = state.withLock({ $0.failed }),
      part.openedAt <= failed
    else { return nil }
    do throws(TransferError) {
      try syncPart(part)
      return nil
    } catch {
      return error
    }
  }

  /// Syncs each file and each directory separately, on several threads if possible. If callers wait, the last sync to finish
  /// starts the next round.
  private func syncApart(_ waiters: [Waiter], _ io: IOPool) {
    var groups: [[Waiter]] = []
    var directories: [Destination.Parent.Identity: Int] = [:]
    for waiter in waiters {
      if case .named(let named) = waiter.step {
        let identity = named.parent.identity
        if let index = directories[identity] {
          groups[index].append(waiter)
          continue
        }
        directories[identity] = groups.count
      }
      groups.append([waiter])
    }
    let open = Countdown(groups.count)
    for group in groups {
      io.submit {
        let error = self.sync(group)
        for waiter in group { self.advance(waiter, after: error) }
        if open.isLast(), self.hasMore() { self.rounds(io) }
      }
    }
  }

  /// Syncs a file, or the common directory of all of `group`. Returns the error, or nil.
  private func sync(_ group: [Waiter]) -> TransferError? {
    do throws(TransferError) {
      var parents: [Destination.Parent] = []
      for waiter in group {
        switch waiter.step {
        case .part(let part, _): try syncPart(part)
        case .named(let named): parents.append(named.parent)
        }
      }
      try Destination.Parent.sync(parents)
      return nil
    } catch {
      return error
    }
  }

  /// Continues a caller after a sync: starts its next step, or resumes it. `error` is the sync's error, or nil if the step is
  /// durable.
  private func advance(_ waiter: Waiter, after error: TransferError?) {
    if let error { return waiter.continuation.resume(returning: .failure(error)) }
    do throws(TransferError) {
      switch waiter.step {
      case .named(let named):
        waiter.continuation.resume(returning: .success(named))
      case .part(_, let name):
        let named = try name()
        guard let named, named.published != nil else {
          return waiter.continuation.resume(returning: .success(named))
        }
        var waiter = waiter
        waiter.step = .named(named)
        state.withLock { $0.waiting.append(waiter) }
      }
    } catch {
      waiter.continuation.resume(returning: .failure(error))
    }
  }
}

/// Counts down to the end of several tasks.
private final class Countdown: Sendable {
  private let left: Atomic<Int>

  init(_ count: Int) {
    left = Atomic(count)
  }

  /// Counts one task. Returns true for the last one.
  func isLast() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
