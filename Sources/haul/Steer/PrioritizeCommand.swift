import Arguments
import JobModel
import JobQueue
import Terminal

struct PrioritizeCommand: HaulCommand {
  static let name = "prioritize"
  static let role: PoolRole? = .submitter
  static let abstract = "Give jobs another priority."
  static let discussion = """
    Of jobs that wait or are paused it counts at once, of a running one when it waits again. Lower priorities get a \
    turn now and then, so that nothing waits for ever.
    """
  static let examples = [
    Example("haul prioritize --batch films --priority 0", "The batch films first."),
    Example("haul prioritize 17 18 --priority 9", "Two jobs last."),
  ]
  static let options: [Option<Self>] =
    [.value("priority", "<n>", \.priority, in: 0...9, "From 0, first, to 9, last; must be given.")]
    + group(\.selectors) + group(\.confirm) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("id", \.ids, isRequired: false, "Ids of jobs.")
  ]

  var ids: [Int64] = []
  var priority: Int?
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    guard let priority else { throw ExitError(.usage, "option '--priority' is missing.") }
    let selector = try selectors.required(ids: ids)
    let steps = CountLine("prioritized")
    let count = try await database.writing.withQueue { queue -> Int? in
      guard
        try await confirm.allows(
          "prioritize", selector, in: JobAction.live, queue, output)
      else { return nil }
      return try await queue.prioritize(selector, to: priority, onStep: steps.show)
    }
    steps.clear()
    guard let count else { return }
    try output.print(
      [.init("jobs", .number(count))],
      orSay: count == 0
        ? "no job to prioritize matches" : "\(counted(count, "job")) at priority \(priority)")
  }
}
