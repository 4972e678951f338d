import Arguments
import Glibc
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
  /// What is done: ``action`` unless an option says otherwise.
  var chosen: JobAction { get }
  /// The jobs to do it to, of those that the user has named.
  func narrowed(_ selector: JobSelector) throws(ExitError) -> JobSelector
  /// What is said on a terminal behind the number of jobs that were changed.
  func note(_ count: Int) -> String
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

  var chosen: JobAction { Self.action }

  func narrowed(_ selector: JobSelector) throws(ExitError) -> JobSelector { selector }

  func note(_ count: Int) -> String { "" }

  func change(
    _ queue: JobQueue, _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int {
    try await queue.control(chosen, selector, onStep: onStep)
  }

  func perform() async throws {
    let selector = try narrowed(selectors.required(ids: ids))
    let steps = CountLine(chosen.participle)
    let found = try await database.writing.withQueue { queue -> (count: Int, others: [JobRow])? in
      guard
        try await confirm.allows(
          chosen.rawValue, selector, in: chosen.states(byID: !ids.isEmpty), queue, output)
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
        ? chosen.futility(
          others.compactMap(\.state), isCut: others.count == JobAction.looked)
        : "\(counted(count, "job")) \(chosen.participle)\(isatty(STDOUT_FILENO) == 1 ? inPool + note(count) : "")"
    )
  }

  /// Which pool it was, for a person.
  private var inPool: String { ConnectedPool.name.map { " in the pool \($0)" } ?? "" }
}
