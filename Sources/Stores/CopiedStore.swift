/// Detects a store directory that was copied with its marker, so that two directories have the same instance id. The type reads
/// no clock: callers pass the time.
///
/// Each worker writes a file, the worker's sign, into the directory and looks for the signs of the other workers. If two checks
/// in a row (``looks``) do not find a sign that is at least 2 minutes old (``delay``), the worker of that sign uses another
/// directory. The delay is necessary because on NFS a file of another machine may become visible late. If a sign is deleted, its
/// worker writes it again at the next check.
package struct CopiedStore: Sendable {
  package typealias Instant = ContinuousClock.Instant

  /// Another live worker that has written its sign (see ``CopiedStore``) into a directory with the same instance id.
  package struct Peer: Sendable, Equatable {
    package let worker: Int64
    package let machine: String
    /// The time since this peer wrote its sign file.
    package let age: Duration
    /// Whether the peer cannot find the sign file of this worker.
    package let misses: Bool

    /// Creates a peer from the database's data.
    package init(worker: Int64, machine: String, age: Duration, misses: Bool) {
      self.worker = worker
      self.machine = machine
      self.age = age
      self.misses = misses
    }
  }

  /// The age at which a sign (a file that a worker writes into the store) must be visible to all workers. NFS caches attributes
  /// and names of directories for a minute. (nfs(5), acdirmax)
  package static let delay = Duration.seconds(120)
  /// If this many consecutive checks do not find a worker's sign file, that worker counts as using another directory.
  package static let looks = 2

  private let own: Int64
  private let delay: Duration
  private var signedAt: [Int64: Instant] = [:]
  private var missed: [Int64: Int] = [:]
  /// The workers that use another directory. Key: worker id; value: machine.
  private var apart: [Int64: String] = [:]

  /// Creates a value without observations. `own` is this worker's id.
  package init(own: Int64, delay: Duration = delay) {
    self.own = own
    self.delay = delay
  }

  /// Records the workers whose signs (files in the store) a check found. The check began at `now`. Returns the workers whose
  /// signs are missing.
  package mutating func looked(_ found: Set<Int64>, now: Instant) -> [Int64] {
    for (worker, signed) in signedAt where now - signed >= delay {
      missed[worker] = found.contains(worker) ? 0 : missed[worker, default: 0] + 1
    }
    return missed.filter { $0.value >= Self.looks }.map(\.key).sorted()
  }

  /// Records what the database says about the other workers at `now`. A worker that is not in `peers` still counts as using
  /// another directory if it counted so before.
  package mutating func heard(of peers: [Peer], now: Instant) {
    signedAt = Dictionary(uniqueKeysWithValues: peers.map { ($0.worker, now - $0.age) })
    missed = missed.filter { signedAt[$0.key] != nil }
    for peer in peers {
      let count = missed[peer.worker]
      if peer.misses || count ?? 0 >= Self.looks {
        apart[peer.worker] = peer.machine
      } else if count == 0 {
        apart[peer.worker] = nil
      }
    }
  }

  /// The worker with the lowest id among those that use another directory. Nil if none of them has a lower id than this worker.
  /// If not nil, this worker's directory counts as the copy.
  package var original: (worker: Int64, machine: String)? {
    apart.filter { $0.key < own }.min { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
