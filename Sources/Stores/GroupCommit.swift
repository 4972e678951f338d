import Glibc
package import HaulSystem
package import HaulTransfer
import Synchronization

/// How giving a part file its final name ended.
package enum Published: Sendable, Equatable {
  case placed(RelativePath)
  /// Another file of this length, which must stay, was created there since the transfer began.
  case skipped(bytes: Int64)
}

/// Makes the files durable that are published on one store at about the same time.
///
/// A file is synced before it gets its name and its directory after. Here all who come while a round runs are served by the
/// next, each step of theirs by one round: a sync of the whole file system where that pays, else a sync each, of a
/// directory one for all. A round that began before a caller came does not serve it: it may have missed the caller's writes.
package final class GroupCommit: Sendable {
  /// What has got its name in `parent`, not yet durable; `published` is nil where there was no part file.
  package typealias Named = (published: Published?, parent: Destination.Parent)
  /// Gives a file that is durable its name, on a thread that may block; nil where that must wait for a better right to it.
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
    /// A round runs, or is about to.
    var isRunning = false
    var lastRound: ContinuousClock.Instant?
    /// Until then each is synced apart.
    var apart: ContinuousClock.Instant?
    /// When a sync of everything last failed. The kernel tells of each failure once, so that a later sync of everything says
    /// nothing of files that were open then.
    var failed: ContinuousClock.Instant?
  }

  /// From the beginning of one round to that of the next, so that there is a group to wait for.
  private static let pace = Duration.milliseconds(3)
  /// The number of files from which one sync of everything costs less than theirs together.
  private static let least = 4
  /// A sync of everything that takes longer than `patience` has found much that is not ours: for `restraint` each is synced
  /// apart.
  private static let patience = Duration.milliseconds(500)
  private static let restraint = Duration.seconds(30)

  private let syncAll: SyncAll?
  private let syncPart: SyncPart
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// - Parameters:
  ///   - syncAll: makes everything written to the file system durable; nil if the file system may not support it.
  ///   - syncPart: makes one file durable, by its own descriptor.
  package init(
    syncAll: SyncAll?,
    syncPart: @escaping SyncPart = { (part) throws(TransferError) in try part.sync() },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.syncAll = syncAll
    self.syncPart = syncPart
    self.now = now
  }

  /// For the store below `root`.
  package convenience init(root: FileDescriptor) {
    let syncAll: SyncAll = { () throws(TransferError) in try root.syncFileSystem() }
    self.init(syncAll: root.syncsFileSystem ? syncAll : nil)
  }

  /// Syncs `part`, names it, and syncs the directory. Durable on return; where `name` gave nil, only the file's bytes are.
  package func publish(
    _ part: PartFile, on io: IOPool, naming name: @escaping Naming
  ) async throws(TransferError) -> Named? {
    try await run(.part(part, name), io)
  }

  /// The name that a file has got is durable on return.
  package func sync(_ named: Named, on io: IOPool) async throws(TransferError) {
    guard named.published != nil else { return }
    _ = try await run(.named(named), io)
  }

  /// How many wait for a round that has not begun.
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

  /// Waits for the time of the next round and takes who is there then.
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

  /// False where it failed: a sync of each one's own says whose failure it is.
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

  /// Why a file that a sync of everything has covered is not durable all the same; nil where it is. A file that was open
  /// when one failed may have lost what it wrote then, and only its own descriptor tells.
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

  /// A sync for each file and each directory, at the same time as far as there are threads; the last one continues.
  private func syncApart(_ waiters: [Waiter], _ io: IOPool) {
    var groups: [[Waiter]] = []
    var directories: [Destination.Parent.Identity: Int] = [:]
    for waiter in waiters {
      if case .named(let named) = waiter.step, let identity = try? named.parent.identity() {
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

  /// Syncs a file, or the directory that all of `group` are in.
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

  /// The request is durable: continue with the next step, or resume the waiting caller.
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

/// Counts several to their end.
private final class Countdown: Sendable {
  private let left: Atomic<Int>

  init(_ count: Int) {
    left = Atomic(count)
  }

  /// Counts one; true for the last.
  func isLast() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
