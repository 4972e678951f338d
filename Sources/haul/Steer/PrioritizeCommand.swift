import Arguments
import JobModel
import JobQueue
import Terminal

struct PrioritizeCommand: HaulCommand {
  static let name = "prioritize"
  static let role: PoolRole? = .submitter
  static let abstract = "Change the priority of jobs."
  static let discussion = """
    The new priority applies immediately to waiting and paused jobs. For a running job it applies when the job \
    waits again. In one claim out of eight, a worker takes jobs in another order, so that jobs with low \
    priority do not wait forever.
    """
  static let examples = [
    Example("haul prioritize --batch films --priority 0", "Runs the batch films first."),
    Example("haul prioritize 17 18 --priority 9", "Runs two jobs last."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "priority", "<n>", \.priority, in: 0...9,
        "The priority, from 0 (first) to 9 (last). Required.")
    ]
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
        ? "no matching job to prioritize"
        : "\(counted(count, "job")) now \(count == 1 ? "has" : "have") priority \(priority)")
  }
}
