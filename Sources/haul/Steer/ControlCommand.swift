import Arguments
import JobModel
import JobQueue
import Reports
import Terminal

/// What `pause`, `resume`, `cancel` and `retry` have in common: selectors, one action, a count.
protocol ControlCommand: HaulCommand {
  static var action: JobAction { get }
  var ids: [Int64] { get set }
  var selectors: SelectorOptions { get set }
  var confirm: ConfirmOptions { get set }
  var output: OutputOptions { get set }
  var database: DatabaseOptions { get set }
  /// Does it to all jobs of `selector`, and returns how many it changed.
  func change(
    _ queue: JobQueue, _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int
}

extension ControlCommand {
  static var role: PoolRole? { .submitter }
  static var name: String { action.rawValue }
  static var options: [Option<Self>] {
    group(\.selectors) + group(\.confirm) + group(\.output) + group(\.database)
  }
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
    let steps = CountLine(Self.action.participle)
    let found = try await database.writing.withQueue { queue -> (count: Int, others: [JobRow])? in
      guard
        try await confirm.allows(
          Self.action.rawValue, selector, in: Self.action.states(byID: !ids.isEmpty), queue, output)
      else { return nil }
      let count = try await change(queue, selector, onStep: steps.show)
      // A look at the newest, since on large pools a look at all takes long.
      return (count, count > 0 ? [] : try await queue.jobs(selector, limit: JobAction.looked))
    }
    steps.clear()
    guard let (count, others) = found else { return }
    try output.print(
      [.init("jobs", .number(count))],
      orSay: count == 0
        ? Self.action.futility(
          others.compactMap(\.state), isCut: others.count == JobAction.looked)
        : "\(counted(count, "job")) \(Self.action.participle)")
  }
}
