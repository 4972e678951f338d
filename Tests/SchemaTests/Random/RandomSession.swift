import JobQueue
import Postgres
import Synchronization
import TestSupport

/// SplitMix64 (Steele, Lea, Flood 2014): repeatable choices.
struct SplitMix: RandomNumberGenerator, Sendable {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}

/// What the sessions of a random run tell each other, and what was wrong.
final class RunLog: Sendable {
  private struct State {
    var complaints: [String] = []
    /// The greatest token seen of each job.
    var tokens: [Int64: Int64] = [:]
    var counts: [String: Int] = [:]
    var isDraining = false
    var isDone = false
  }

  private let state = Mutex(State())

  var complaints: [String] { state.withLock { $0.complaints } }
  /// No more crashes and operators: let it come to an end.
  var isDraining: Bool { state.withLock { $0.isDraining } }
  var isDone: Bool { state.withLock { $0.isDone } }
  var summary: String {
    state.withLock { state in
      state.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(
        separator: ", ")
    }
  }

  func complain(_ complaints: [String]) { state.withLock { $0.complaints += complaints } }
  func count(_ what: String, _ number: Int = 1) {
    state.withLock { $0.counts[what, default: 0] += number }
  }
  func drain() { state.withLock { $0.isDraining = true } }
  func finish() { state.withLock { $0.isDone = true } }

  /// A token is never given twice, and a job's only grow. Replies of two claims of one job may be seen in either order.
  func claimed(_ leases: [Lease]) {
    state.withLock { state in
      for lease in leases {
        if state.tokens[lease.job] == lease.token {
          state.complaints.append("token \(lease.token) of job \(lease.job) twice")
        }
        state.tokens[lease.job] = max(state.tokens[lease.job] ?? 0, lease.token)
      }
      state.counts["leases", default: 0] += leases.count
    }
  }
}

/// One session of a random run: a worker that now and then dies, and an operator.
struct RandomSession {
  let pool: Pool
  let log: RunLog
  var worker: TestWorker
  let hosts: [String]
  /// Hosts whose policy stays as it is.
  let steady: Set<String>
  let batches: [String]
  let jobs: Int64
  var random: SplitMix
  var held: [Lease] = []

  init(
    pool: Pool, log: RunLog, worker: TestWorker, hosts: [String], steady: Set<String>,
    batches: [String], jobs: Int64, seed: UInt64
  ) {
    self.pool = pool
    self.log = log
    self.worker = worker
    self.hosts = hosts
    self.steady = steady
    self.batches = batches
    self.jobs = jobs
    random = SplitMix(state: seed)
  }

  mutating func run() async throws {
    while !log.isDone {
      switch Int.random(in: 0..<1000, using: &random) {
      case 0..<12 where !log.isDraining: try await crash()
      case 12..<32 where !log.isDraining:
        do {
          try await operate()
        } catch JobQueueError.noSuchName {
          log.count("commands on removed jobs")
        }
      case 32..<40: try await fallSilent()
      case 40..<50: _ = try await JobQueue(worker.life).promote(limit: 100)
      case 50..<150: try await beat()
      case 150..<220: try await save()
      default: try await work()
      }
    }
  }

  private mutating func work() async throws {
    held.shuffle(using: &random)
    let count = Int.random(in: 0...held.count, using: &random)
    let ended = held.prefix(count)
    let endings = ended.map { ending(of: $0) }
    held.removeFirst(count)
    let room = max(0, Int.random(in: 1...64, using: &random) - held.count)
    let reply = try await worker.call(endings, room: room)
    log.claimed(reply.claimed)
    log.count("calls")
    if Int.random(in: 0..<50, using: &random) == 0 {
      let again = try await worker.repeatCall(endings, room: room)
      // A rescue may have come between the two; never is there anything new.
      let known = Set(reply.claimed.map(\.token))
      if !again.claimed.allSatisfy({ known.contains($0.token) }) {
        log.complain(["a repeated call claimed something new"])
      }
    }
    held += reply.claimed + heldUp(ended, reply)
    // Nothing is waited for: with nothing to do, eight sessions leave the processor to each other.
    if reply.claimed.isEmpty && endings.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
  }

  private mutating func ending(of lease: Lease) -> LeaseEnding {
    let isDraining = log.isDraining
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<10: (ending.result, ending.error) = (.failed, "timeout")
    case 10..<14: (ending.result, ending.error) = (.failed, "http_4xx")
    case 14..<16 where !isDraining: (ending.result, ending.error) = (.failed, "connect")
    case 16..<18 where !isDraining:
      (ending.result, ending.error) = (.failed, "rate_limited")
      ending.host = hosts[Int.random(in: 0..<hosts.count, using: &random)]
    case 18..<28 where !isDraining: ending.result = .released
    default: break
    }
    return ending
  }

  private mutating func beat() async throws {
    let reply = try await worker.heartbeat(held)
    let lost = Set(reply.lost)
    let told = Set(reply.commands.map(\.token))
    held.removeAll { lost.contains($0.token) }
    let ended = held.filter { told.contains($0.token) }
    held.removeAll { told.contains($0.token) }
    if !reply.unlisted.isEmpty { log.complain(["leases that their worker does not know of"]) }
    held += heldUp(
      ended,
      try await worker.call(
        ended.map { LeaseEnding(job: $0.job, token: $0.token, result: .released) }))
  }

  /// Those that other sessions did not let end.
  private func heldUp(_ ended: some Sequence<Lease>, _ reply: WorkReply) -> [Lease] {
    let later = Set(reply.later ?? [])
    return ended.filter { later.contains($0.token) }
  }

  private mutating func save() async throws {
    let chosen = held.shuffled(using: &random).prefix(8)
    _ = try await JobQueue(worker.work).checkpoint(
      worker.caller,
      chosen.map {
        CheckpointRow(
          job: $0.job, token: $0.token, instance: pool.instance, durable: "{[0,4096)}",
          length: 8192, resume: "{}")
      })
  }

  /// The process dies; its leases are found by the next rescue.
  private mutating func crash() async throws {
    log.count("crashes")
    await worker.work.close()
    await worker.life.close()
    try await pool.silence(worker, for: 60)
    worker = try await pool.worker()
    held = []
  }

  /// The network is away for a while: rescued although alive, it goes on with what it believes to hold.
  private func fallSilent() async throws {
    try await pool.silence(worker, for: 16)
  }

  private mutating func operate() async throws {
    log.count("operations")
    let queue = JobQueue(worker.life)
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<8: try await steerJobs(queue)
    case 8..<10:
      _ = try await queue.prioritize(selector(), to: Int.random(in: 0...9, using: &random))
    case 10..<13: try await steerBatch(queue)
    case 13..<16: try await steerQueue(queue)
    default: try await steerHost(queue)
    }
  }

  private mutating func selector() -> JobSelector {
    var selector = JobSelector()
    if Int.random(in: 0..<10, using: &random) == 0 {
      selector.host = any(hosts)
    } else {
      selector.ids = (0..<50).map { _ in Int64.random(in: 1...jobs, using: &random) }
    }
    return selector
  }

  private mutating func any(_ names: [String]) -> String {
    names[Int.random(in: 0..<names.count, using: &random)]
  }

  private mutating func steerJobs(_ queue: JobQueue) async throws {
    let action: JobAction =
      switch Int.random(in: 0..<8, using: &random) {
      case 0..<3: .pause
      case 3..<6: .resume
      case 6: .cancel
      default: .retry
      }
    _ = try await queue.control(action, selector())
  }

  /// As a whole; now and then its operator is gone after the first step.
  private mutating func steerBatch(_ queue: JobQueue) async throws {
    var selector = JobSelector()
    selector.batch = any(batches)
    let actions: [JobAction] = [.pause, .resume, .resume, .cancel, .retry, .retry]
    let action = actions[Int.random(in: 0..<actions.count, using: &random)]
    if action != .retry, Bool.random(using: &random) {
      try await worker.life.execute(
        "SELECT haul.\(action.rawValue)(jsonb_build_object('batch', $1::text), 100)",
        [selector.batch])
    } else {
      _ = try await queue.control(action, selector)
    }
  }

  /// Never a limit: what runs above a lowered one is right, and looks wrong.
  private mutating func steerQueue(_ queue: JobQueue) async throws {
    var settings = QueueSettings()
    switch Int.random(in: 0..<6, using: &random) {
    case 0: settings.paused = true
    case 1..<5: settings.paused = false
    default: settings.weight = Int.random(in: 1...9, using: &random)
    }
    try await queue.setQueue(any(["data", "default"]), settings)
  }

  private mutating func steerHost(_ queue: JobQueue) async throws {
    let host = any(hosts)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: try await queue.blockHost(host, for: Bool.random(using: &random) ? .seconds(1) : nil)
    case 1..<3: try await queue.unblockHost(host)
    case 3 where !steady.contains(host):
      do { try await queue.unsetHost(host) } catch JobQueueError.noSuchName {}
    case _ where !steady.contains(host):
      try await queue.setHost(host, cap: Int.random(in: 1...12, using: &random))
    default: break
    }
  }
}
