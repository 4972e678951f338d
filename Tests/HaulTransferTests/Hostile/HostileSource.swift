import Glibc
import Synchronization
import TestSupport

/// A file on an origin that changes, lies and breaks off as its generator says, until it is told to behave.
///
/// It does nothing that nobody could notice: no two contents have the same strong validator, no answer announces less than
/// there is, no body without length is broken off twice at the same byte, and no range is sent against an If-Range with a date
/// unless the answer tells its own.
final class HostileSource: Sendable {
  /// How it tells one version from the next.
  enum Kind {
    /// By a strong tag, or by a date long past.
    case tagged, dated
    /// By a weak tag or a date within this minute, which are the same for all versions, or not at all.
    case weak, recent, bare
    /// By a tag without its quotation marks, and a date long past.
    case unquoted
    /// By a tag that is new in each answer.
    case fickle
  }

  /// What befalls the program that downloads.
  enum Fate: Sendable {
    case death
    case drain
  }

  private struct State {
    var random: SplitMix
    var versions: [Source]
    var isHonest = false
    var answers = 0
    /// Where bodies without length were broken off.
    var cuts: Set<Int64> = []
    var deeds: [HostileDeed: Int] = [:]
    var strike: @Sendable (Fate) -> Void = { _ in }
    var tell: @Sendable (String) -> Void = { _ in }
  }

  let kind: Kind
  /// Where redirects lead.
  let hosts: [String]
  /// It ends as it began: whoever has the digest of the first version gets it in the end.
  let returns: Bool
  private let state: Mutex<State>

  init(seed: UInt64, hosts: [String]) {
    self.hosts = hosts
    var random = SplitMix(state: seed)
    let kinds: [Kind] = [
      .tagged, .tagged, .tagged, .tagged, .dated, .dated, .weak, .recent, .bare, .fickle, .unquoted,
    ]
    kind = kinds.randomElement(using: &random) ?? .tagged
    returns = Int.random(in: 0..<4, using: &random) == 0
    let length =
      switch Int.random(in: 0..<40, using: &random) {
      case 0: Int64(0)
      case 1: Int64.random(in: 300_000...700_000, using: &random)
      default: Int64.random(in: 1...60_000, using: &random)
      }
    let first = Self.marked(Source(seed: random.next(), length: length), 0, kind)
    state = Mutex(State(random: random, versions: [first]))
  }

  /// Seconds since 1970.
  static var now: Int64 { Int64(time(nil)) }

  /// All that it ever was.
  var versions: [Source] { state.withLock { $0.versions } }

  /// How often it did what.
  var deeds: [HostileDeed: Int] { state.withLock { $0.deeds } }

  /// From now on its answers are correct, and it stays as it is.
  func behave() { state.withLock { $0.isHonest = true } }

  /// Whom `death` and `drain` befall, in answer to what is asked from now on.
  func onStrike(_ strike: @escaping @Sendable (Fate) -> Void) {
    state.withLock { $0.strike = strike }
  }

  /// Who is told of each answer: what was asked, what is done, from which version.
  func onAnswer(_ tell: @escaping @Sendable (String) -> Void) { state.withLock { $0.tell = tell } }

  /// The handler.
  func answer(_ request: OriginRequest, _ reply: OriginReply) throws {
    let (plan, tell) = state.withLock { state in
      let plan = self.plan(for: request, &state)
      state.deeds[plan.deed, default: 0] += 1
      return (plan, state.tell)
    }
    let version = plan.version
    tell("\(request.asked) → \(plan.deed) \(version.entityTag ?? "") \(version.length) \(plan.cut)")
    try plan.carryOut(request, reply)
  }

  /// Draws all that chance decides, so that the same seed does the same whatever threads do.
  private func plan(for request: OriginRequest, _ state: inout State) -> HostilePlan {
    state.answers += 1
    let isRange = request[field: "Range"] != nil
    var deed = HostileDeed.draw(isRange: isRange, &state.random)
    let number = Int64.random(in: 1...5000, using: &state.random)
    let old = state.versions.randomElement(using: &state.random)
    if state.isHonest { deed = .correct }
    if deed == .change {
      let next = Self.changed(state.versions[state.versions.count - 1], &state.random)
      state.versions.append(Self.marked(next, state.versions.count, kind))
    }
    var version = state.versions[state.isHonest && returns ? 0 : state.versions.count - 1]
    if deed == .stale, let old { version = old }
    if kind == .fickle { version.entityTag = "\"\(state.answers)\"" }
    var cut = Int64.random(in: 0...version.length, using: &state.random)
    if deed == .cutUnsized {
      while cut < version.length, !state.cuts.insert(cut).inserted { cut += 1 }
    }
    let host = hosts[Int(number) % hosts.count]
    return HostilePlan(
      deed: deed, version: version, number: number, cut: cut, otherHost: host, strike: state.strike)
  }

  /// Mostly of the same length, since that is what a length check does not see, and mostly of the same
  /// content, since that is what a look at some of it does not see.
  private static func changed(_ version: Source, _ random: inout SplitMix) -> Source {
    var version = version
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let start = Int64.random(in: 0...version.length, using: &random)
      let end = start + Int64.random(in: 1...8192, using: &random)
      version.edits.append((start..<end, Pattern(seed: random.next())))
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      version.length = max(0, version.length + Int64.random(in: -2000...2000, using: &random))
    }
    return version
  }

  private static func marked(_ version: Source, _ number: Int, _ kind: Kind) -> Source {
    var version = version
    version.entityTag = nil
    switch kind {
    case .tagged, .fickle: version.entityTag = "\"\(number)\""
    case .dated: version.lastModified = 1_000_000_000 + Int64(number)
    case .unquoted:
      version.entityTag = "tag-\(number)"
      version.lastModified = 1_000_000_000 + Int64(number)
    case .weak: version.entityTag = "W/\"same\""
    case .recent: version.lastModified = now
    case .bare: break
    }
    return version
  }
}
