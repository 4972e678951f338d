/// Whether other workers that name a store's instance have another directory: it was copied with its marker. Pure: time is
/// passed in.
///
/// Each worker leaves its sign in the directory and looks for those of the others. A sign that is old enough and is not
/// there is in another directory. On NFS another machine's file may show late, hence the delay. If the file
/// was only deleted, it is back at the next look.
package struct CopiedStore: Sendable {
  package typealias Instant = ContinuousClock.Instant

  /// Another worker that has signed this instance and sends heartbeats.
  package struct Peer: Sendable, Equatable {
    package let worker: Int64
    package let machine: String
    /// How old its sign is.
    package let age: Duration
    /// Whether it does not find this worker's sign.
    package let misses: Bool

    /// A peer as the database tells of it.
    package init(worker: Int64, machine: String, age: Duration, misses: Bool) {
      self.worker = worker
      self.machine = machine
      self.age = age
      self.misses = misses
    }
  }

  /// A sign that is younger may not be visible yet. Attributes and names of directories are cached for a minute. (nfs(5),
  /// acdirmax)
  package static let delay = Duration.seconds(120)
  /// Looks in a row that must miss a sign.
  package static let looks = 2

  private let own: Int64
  private let delay: Duration
  private var signedAt: [Int64: Instant] = [:]
  private var missed: [Int64: Int] = [:]
  /// The machines of workers that have another directory.
  private var apart: [Int64: String] = [:]

  /// Nothing is known yet; `own` is this worker's number.
  package init(own: Int64, delay: Duration = delay) {
    self.own = own
    self.delay = delay
  }

  /// Takes the signs that a look has found which began at `now`. Returns the workers whose signs are missing.
  package mutating func looked(_ found: Set<Int64>, now: Instant) -> [Int64] {
    for (worker, signed) in signedAt where now - signed >= delay {
      missed[worker] = found.contains(worker) ? 0 : missed[worker, default: 0] + 1
    }
    return missed.filter { $0.value >= Self.looks }.map(\.key).sorted()
  }

  /// Takes what the database says of the others at `now`. What is known of one that is not heard of any more stays.
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

  /// An older worker that has another directory: then this one's is taken for the copy. nil where there is none.
  package var original: (worker: Int64, machine: String)? {
    apart.filter { $0.key < own }.min { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
