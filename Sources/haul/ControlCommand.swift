import Arguments
import JobQueue
import Terminal

/// What `pause`, `resume`, `cancel` and `retry` have in common: selectors, one action, a count.
protocol ControlCommand: HaulCommand {
  static var action: JobQueue.Action { get }
  /// What has happened to the jobs: `paused`.
  static var participle: String { get }
  var ids: [Int64] { get set }
  var selectors: SelectorOptions { get set }
  var output: OutputOptions { get set }
  var database: DatabaseOptions { get set }
  /// Does it to all jobs of `selector`, and returns how many it changed.
  func change(
    _ queue: JobQueue, _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int
}

extension ControlCommand {
  static var name: String { action.rawValue }
  static var options: [Option<Self>] { group(\.selectors) + group(\.output) + group(\.database) }
  static var operands: [Operand<Self>] {
    [.repeated("id", \.ids, isRequired: false, "Ids of jobs.")]
  }

  func change(
    _ queue: JobQueue, _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int {
    try await queue.control(Self.action, selector, onStep: onStep)
  }

  func perform() async throws {
    let selector = try selectors.required(ids: ids)
    let steps = StepCount(Self.participle)
    let (count, others) = try await database.withQueue { queue in
      let count = try await change(queue, selector, onStep: steps.show)
      // A look at the newest, since on large pools a look at all takes long.
      return (count, count > 0 ? [] : try await queue.jobs(selector, limit: JobQueue.Action.looked))
    }
    steps.clear()
    try output.print(
      [.init("jobs", .number(count))],
      orSay: count == 0
        ? Self.action.futility(
          others.compactMap(\.state), isCut: others.count == JobQueue.Action.looked)
        : "\(counted(count, "job")) \(Self.participle)")
  }
}

extension JobQueue.Action {
  /// Of how many jobs, the newest, is said why nothing happened to them.
  static var looked: Int { 1000 }

  /// Why nothing happened, from the states of the jobs that were named: `no job to retry: 2 jobs are completed, 1 is paused`, and what
  /// to do instead where there is something.
  /// `isCut`: there may be more jobs than these, the newest.
  func futility(_ states: [String], isCut: Bool = false) -> String {
    if states.isEmpty { return "no job to \(rawValue): none is as the selectors say" }
    let counts = Dictionary(states.map { ($0, 1) }, uniquingKeysWith: +)
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    // A number alone would be taken for an id.
    let others = counts.enumerated().map { index, state in
      (index == 0 && !isCut ? counted(state.value, "job") : "\(state.value)")
        + " \(state.value == 1 ? "is" : "are") \(state.key)"
    }
    let advice = counts.lazy.compactMap { self.alternative(to: $0.key) }.first
    let newest = isCut ? "of the newest \(counted(states.count, "job")), " : ""
    return "no job to \(rawValue): \(newest)\(others.joined(separator: ", "))"
      + (advice.map { "; \($0)" } ?? "")
  }

  /// What does for a job in this state what was probably meant.
  private func alternative(to state: String) -> String? {
    switch (self, state) {
    case (.retry, "completed"):
      "to fetch a file anew, remove it and name the job to 'haul verify --requeue'"
    case (.retry, "paused"): "'haul resume' lets it go on"
    case (.resume, "failed"), (.resume, "cancelled"): "'haul retry' queues it again"
    default: nil
    }
  }
}
