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
}

extension ControlCommand {
  static var name: String { action.rawValue }
  static var options: [Option<Self>] { group(\.selectors) + group(\.output) + group(\.database) }
  static var operands: [Operand<Self>] {
    [.repeated("id", \.ids, isRequired: false, "Ids of jobs.")]
  }

  func perform() async throws {
    let selector = try selectors.required(ids: ids)
    let steps = StepCount(Self.participle)
    let count = try await database.withQueue {
      try await $0.control(Self.action, selector, onStep: steps.show)
    }
    steps.clear()
    try output.print(
      [.init("jobs", .number(count))],
      orSay: count == 0
        ? "no job to \(Self.name) matches" : "\(counted(count, "job")) \(Self.participle)")
  }
}
