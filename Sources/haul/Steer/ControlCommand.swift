import Arguments
import Glibc
import JobModel
import JobQueue
import Reports
import Terminal

/// The common part of `pause`, `resume`, `cancel` and `retry`: selectors, one action, and a count.
protocol ControlCommand: HaulCommand {
  static var action: JobAction { get }
  var ids: [Int64] { get set }
  var selectors: SelectorOptions { get set }
  var confirm: ConfirmOptions { get set }
  var output: OutputOptions { get set }
  var database: DatabaseOptions { get set }
  /// The action to perform: ``action``, unless an option chooses another action.
  var chosen: JobAction { get }
  /// Whether the action undoes an earlier action. If so, messages do not name the action ``chosen``.
  var isUndo: Bool { get }
  /// Returns the selector of the jobs to change. `selector` selects the jobs that the user named; the command may add
  /// conditions.
  func narrowed(_ selector: JobSelector) throws(ExitError) -> JobSelector
  /// Returns the text that a terminal shows after the number of changed jobs.
  func note(_ count: Int) -> String
  /// Changes all jobs that match `selector`, and returns how many jobs it changed.
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

  var chosen: JobAction { Self.action }

  var isUndo: Bool { false }

  func narrowed(_ selector: JobSelector) throws(ExitError) -> JobSelector { selector }

  func note(_ count: Int) -> String { "" }

  func change(
    _ queue: JobQueue, _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int {
    try await queue.control(chosen, selector, onStep: onStep)
  }

  func perform() async throws {
    let selected = try selectors.required(ids: ids)
    let selector = try narrowed(selected)
    let steps = CountLine(chosen.participle)
    let found = try await database.writing.withQueue { queue -> (count: Int, others: [JobRow])? in
      guard
        try await confirm.allows(
          chosen.rawValue, selector, in: chosen.states(byID: !ids.isEmpty), queue, output)
      else { return nil }
      let count = try await change(queue, selector, onStep: steps.show)
      // Only the newest jobs are read, because reading all of them takes long in large pools. The states of the selected jobs
      // explain why nothing changed, so jobs that the action cannot change are read too.
      return (count, count > 0 ? [] : try await queue.jobs(selected, limit: JobAction.looked))
    }
    steps.clear()
    guard let (count, others) = found else { return }
    try output.print(
      [.init("jobs", .number(count))],
      orSay: count == 0
        ? chosen.futility(
          others.compactMap(\.state), isCut: others.count == JobAction.looked, isUndo: isUndo)
        : "\(counted(count, "job")) \(chosen.participle)\(isatty(STDOUT_FILENO) == 1 ? ConnectedPool.clause + note(count) : "")"
    )
  }
}
