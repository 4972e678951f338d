/// Decides how many jobs to claim and when, so that a few jobs are spread over all workers. Otherwise the first worker would
/// take all of them.
///
/// While a queue has enough jobs for every worker, claims are not limited. After a claim returns fewer jobs than it asked for,
/// the next claims ask for small shares, in turn with other workers. This ends when these claims together have returned as many
/// jobs as the worker can run at the same time.
struct ClaimPace: Sendable {
  /// The number of jobs claimed since a claim returned fewer jobs than it asked for; nil while there are enough jobs for every
  /// worker.
  private var taken: Int?
  /// The number of consecutive claims that returned too few jobs because other sessions had locked jobs that may start now.
  private var contended = 0

  init() {}

  /// Returns the number of jobs to ask for.
  ///
  /// - Parameters:
  ///   - room: the number of jobs that the worker has room for.
  ///   - peers: the number of other workers that could take the same jobs.
  ///   - concurrency: the number of jobs that the worker runs at the same time.
  func share(room: Int, peers: Int, concurrency: Int) -> Int {
    guard peers > 0, taken != nil else { return room }
    return min(room, max(1, concurrency / (2 * (peers + 1))))
  }

  /// Records that a claim for `asked` jobs returned `claimed` jobs. If other sessions had locked jobs that may start now
  /// (`isContended`), the result does not show how many such jobs there are.
  mutating func took(_ claimed: Int, asked: Int, isContended: Bool, concurrency: Int) {
    contended = claimed < asked && isContended ? contended + 1 : 0
    if claimed < asked, !isContended {
      taken = 0
    } else if let before = taken {
      taken = before + claimed >= concurrency ? nil : before + claimed
    }
  }

  /// Returns how long a worker that holds `held` jobs waits before it claims announced jobs. Workers with fewer jobs come
  /// first.
  func delay(held: Int, peers: Int, concurrency: Int) -> Duration {
    guard peers > 0, taken != nil, held > 0 else { return .zero }
    return Self.turn(held: held, concurrency: concurrency)
  }

  /// Returns the time between two claims of a share, so that other workers can claim in between.
  static func turn(held: Int, concurrency: Int) -> Duration {
    .milliseconds(10) + .milliseconds(30) * load(held, concurrency)
  }

  /// Returns the wait before the next claim if other sessions had locked jobs that may start now. `chance` is a random number
  /// from 0 to 1. A worker with fewer jobs asks sooner, except after more than three such claims in a row: then an open
  /// transaction may keep the jobs locked.
  func retry(held: Int, concurrency: Int, chance: Double) -> Duration {
    let share = contended > 3 ? 1 : Self.load(held, concurrency)
    return .milliseconds(5) + .milliseconds(5) * chance + .milliseconds(30) * (share * chance)
  }

  private static func load(_ held: Int, _ concurrency: Int) -> Double {
    min(1, Double(held) / Double(max(1, concurrency)))
  }
}
