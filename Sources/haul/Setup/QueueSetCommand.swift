import Arguments
import JobModel
import JobQueue
import Reports
import Terminal

struct QueueSetCommand: HaulCommand {
  static let name = "set"
  static let role: PoolRole? = .admin
  static let abstract = "Set a queue's limit, weight, and the options of its jobs."
  static let discussion = """
    The limit holds for starts from now on. A worker that serves several queues looks first where the weight is \
    larger, as often as the weights say: with 3 and 1, three times of four.

    Job options hold for jobs submitted from now on that say nothing themselves; none takes one away. 'haul queues' \
    shows them.
    """
  static let examples = [
    Example("haul queue set films --max-running 10 --weight 3", "At most ten at once."),
    Example(
      "haul queue set films --max-running none --max-attempts 9 --if-exists replace",
      "No limit, and two options for jobs that come."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "max-running", "<n>", \.maxRunning, in: 1...1_000_000,
        "How many of its jobs may run at once, over the whole pool; none = any number."),
      .value(
        "weight", "<n>", \.weight, in: 1...1000,
        "How often a worker looks here first, beside its other queues."),
    ] + group(\.defaults) + group(\.output) + group(\.database)
  static let habits = JobOptionTable.habits
  static let operands: [Operand<Self>] = [
    .required("name", \.queue, "The queue.").from(.names("queue"))
  ]

  var queue = ""
  var maxRunning: Settable<Int>?
  var weight: Int?
  var defaults = QueueJobOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    var settings = QueueSettings()
    switch maxRunning {
    case nil: break
    case .some(.none): settings.maxRunning = .some(nil)
    case .value(let limit): settings.maxRunning = .some(limit)
    }
    settings.weight = weight
    settings.defaults = defaults.settings
    guard settings != QueueSettings() else {
      throw ExitError(
        .usage, "nothing to set: give --max-running, --weight or an option of its jobs.")
    }
    try await database.writing.withQueue { [settings] in try await $0.setQueue(queue, settings) }
    try output.print(
      [.init("queue", .string(queue))] + settings.members,
      orSay: "queue \(queue): \(settings.words.joined(separator: ", "))")
  }
}

extension QueueSettings {
  private var options: [JSONValue.Member] {
    defaults.sorted { $0.key < $1.key }.map { .init($0.key, $0.value?.json ?? .null) }
  }

  /// The changes, by the columns of `haul.queues`; null removes a setting.
  fileprivate var members: [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    if let maxRunning { members.append(.init("max_running", .number(maxRunning))) }
    if let weight { members.append(.init("weight", .number(weight))) }
    if !defaults.isEmpty { members.append(.init("defaults", .object(options))) }
    return members
  }

  /// The changes in words, for people.
  fileprivate var words: [String] {
    let limit = maxRunning.map { limit in
      limit.map { "at most \(counted($0, "job")) at once" } ?? "no limit"
    }
    return [limit, weight.map { "weight \($0)" }].compactMap { $0 }
      + options.map { "\($0.name) \($0.value == .null ? "none" : $0.value.line)" }
  }
}
