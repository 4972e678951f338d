import Arguments
import JobModel
import JobQueue
import Reports
import Terminal

struct QueueSetCommand: HaulCommand {
  static let name = "set"
  static let role: PoolRole? = .admin
  static let abstract = "Set a queue's limit, weight, default job options and retention."
  static let discussion = """
    The limit applies to jobs that start from now on. If a worker serves several queues, the weights set how \
    often the worker looks for jobs in each queue first. If the weights are 3 and 1, it begins with the queue \
    of weight 3 in three cases out of four.

    Job options are defaults for jobs submitted from now on. The value none removes a default. 'haul queues' \
    shows the defaults.

    Without a retention, the pool keeps all jobs. With one, a worker or coordinator removes each job from the \
    database when this time has passed since the job ended. Files and the totals of batches stay. The pool \
    remembers the paths of completed jobs, and does not download them again unless --on-duplicate says so. The \
    name '*' sets the retention of all queues that have none of their own. 'haul prune' removes jobs now.
    """
  static let examples = [
    Example(
      "haul queue set films --max-running 10 --weight 3",
      "Runs at most ten jobs at the same time, and gives the queue more weight."),
    Example(
      "haul queue set films --max-running none --max-attempts 9 --if-exists replace",
      "Removes the limit, and sets two defaults for new jobs."),
    Example(
      "haul queue set '*' --keep-completed 30d --keep-failed 90d",
      "Removes completed jobs 30 days and failed jobs 90 days after they have ended."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "max-running", "<n>", \.maxRunning, in: 1...1_000_000,
        "How many jobs of the queue may run at the same time in the whole pool. The value none removes the limit."
      ),
      .value(
        "weight", "<n>", \.weight, in: 1...1000,
        "How often a worker looks for jobs in this queue first, compared with the other queues that it serves."
      ),
    ] + group(\.defaults) + group(\.retention) + group(\.output) + group(\.database)
  static let habits = JobOptionTable.habits
  static let operands: [Operand<Self>] = [
    .required("name", \.queue, "The queue.").from(.names("queue"))
  ]

  var queue = ""
  var maxRunning: Settable<Int>?
  var weight: Int?
  var defaults = QueueJobOptions()
  var retention = RetentionOptions()
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
    settings.retention = retention.settings
    guard settings != QueueSettings() else {
      throw ExitError(
        .usage, "nothing to set. Give --max-running, --weight, a job option or a retention.")
    }
    try await database.writing.withQueue { [settings] in try await $0.setQueue(queue, settings) }
    try output.print(
      [.init("queue", .string(queue))] + settings.members,
      orSay:
        "\(queue == "*" ? "all queues" : "queue \(queue)"): \(settings.words.joined(separator: ", "))"
    )
  }
}

extension QueueSettings {
  private var options: [JSONValue.Member] {
    defaults.sorted { $0.key < $1.key }.map { .init($0.key, $0.value?.json ?? .null) }
  }

  /// The changes. The names are columns of the view `haul.queues`. Null removes a setting.
  fileprivate var members: [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    if let maxRunning { members.append(.init("max_running", .number(maxRunning))) }
    if let weight { members.append(.init("weight", .number(weight))) }
    if !defaults.isEmpty { members.append(.init("defaults", .object(options))) }
    members += retention.all.map { .init($0.name, $0.time.json) }
    return members
  }

  /// The changes in words, for people.
  fileprivate var words: [String] {
    let limit = maxRunning.map { limit in
      limit.map { "at most \(counted($0, "job")) at the same time" } ?? "no limit"
    }
    return [limit, weight.map { "weight \($0)" }].compactMap { $0 }
      + options.map { "\($0.name) \($0.value == .null ? "none" : $0.value.line)" }
      + retention.all.map { "\($0.name) \($0.time.argument)" }
  }
}

extension KeepTime {
  /// The time in seconds, or a word.
  fileprivate var json: JSONValue {
    switch self {
    case .duration(let duration): .double(duration / .seconds(1))
    case .forever: .string("forever")
    case .unset: .null
    }
  }
}
