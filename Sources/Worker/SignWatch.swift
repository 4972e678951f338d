import Glibc
import HaulSystem
import HaulTransfer
import JobQueue
import Stores
import Synchronization

/// Detects that a store's directory is a copy of another worker's directory, including the marker file, and closes the store.
final class SignWatch: Sendable {
  private let database: Database
  private let stores: OpenStores
  private let registration: Registration
  private let watch: StoreWatch
  private let delay: Duration
  private let copies: Mutex<[String: CopiedStore]>

  init(
    _ database: Database, _ stores: OpenStores, _ registration: Registration, watch: StoreWatch
  ) {
    self.database = database
    self.stores = stores
    self.registration = registration
    self.watch = watch
    delay = Self.delay
    copies = Mutex([:])
  }

  /// Writes and checks signs regularly until the task is cancelled.
  func run() async {
    repeat {
      await round()
    } while (try? await Task.sleep(for: delay / 4)) != nil
  }

  /// Removes the signs of a worker that ends, except on disks that hang.
  func remove() async {
    let (pool, worker) = (registration.pool, registration.worker)
    let hanging = watch.hanging
    for store in stores.all where !hanging.contains(store.name) {
      _ = try? await store.io.run { () throws(TransferError) in
        store.removeSign(pool: pool, worker: worker)
      }
    }
  }

  private func round() async {
    var signs: [StoreSign] = []
    for known in registration.stores {
      guard let sign = await look(known.store, instance: known.instance) else { continue }
      signs.append(sign)
    }
    let (caller, sent) = (database.caller, signs)
    guard
      let peers = try? await database.queue({ try await $0.signStores(caller, sent) })
    else { return }
    let now = ContinuousClock.now
    for known in registration.stores {
      let original = copies.withLock { copies in
        var copy = copies[known.store] ?? fresh
        copy.heard(of: peers.filter { $0.instance == known.instance }.map(\.peer), now: now)
        copies[known.store] = copy
        return copy.original
      }
      await watch.setCopied(known.store, of: original)
    }
  }

  /// Writes this worker's sign, a small file, into the store and looks for the signs of the other workers. Returns the result;
  /// nil if the directory cannot be written or read, or if its mount is gone, because missing signs then prove nothing.
  private func look(_ name: String, instance: Int) async -> StoreSign? {
    guard let store = stores[name] else { return nil }
    let (pool, worker, now) = (registration.pool, registration.worker, ContinuousClock.now)
    let look = try? await store.io.run {
      () throws(TransferError) -> (isFresh: Bool, found: Set<Int64>)? in
      guard store.isInPlace else { return nil }
      let isFresh = try store.sign(pool: pool, worker: worker)
      return (isFresh, try store.signs(pool: pool))
    }
    guard let look, look.found.contains(worker) else { return nil }
    let unseen = copies.withLock { copies in
      var copy = copies[name] ?? fresh
      defer { copies[name] = copy }
      return copy.looked(look.found, now: now)
    }
    return StoreSign(instance: instance, fresh: look.isFresh, unseen: unseen)
  }

  private var fresh: CopiedStore { CopiedStore(own: registration.worker, delay: delay) }

  /// The age at which a sign must be visible to all workers. In debug builds `HAUL_COPY_DELAY` sets it, in milliseconds.
  private static var delay: Duration {
    #if DEBUG
      if let text = unsafe getenv("HAUL_COPY_DELAY"), let wanted = Int(unsafe String(cString: text))
      {
        return .milliseconds(wanted)
      }
    #endif
    return CopiedStore.delay
  }
}

extension StorePeer {
  fileprivate var peer: CopiedStore.Peer {
    CopiedStore.Peer(
      worker: worker, machine: machine, age: .clamped(seconds: age), misses: misses)
  }
}
