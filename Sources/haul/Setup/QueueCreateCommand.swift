import Arguments
import JobModel
import JobQueue
import Terminal

struct QueueCreateCommand: HaulCommand {
  static let name = "create"
  static let role: PoolRole? = .admin
  static let abstract = "Create a queue on a store."
  static let discussion = """
    Several queues can share a store. You can watch, steer and serve each queue separately. 'haul store init' \
    creates a queue with the name of the store.
    """
  static let examples = [
    Example(
      "haul queue create music --store archive",
      "Creates the queue music. Its files go to the store archive."),
    Example(
      "haul queue create urgent --store archive", "Creates a second queue on the store archive."),
  ]
  static let options: [Option<Self>] =
    [
      .value("store", "<name>", \.store, "The store for the files of the queue. Required.")
        .from(.names("store"))
    ]
    + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required(
      "name", \.queue,
      "The name of the queue: letters, digits, '.', '_' and '-', at most 63 characters.")
  ]

  var queue = PoolName.unset
  var store: PoolName?
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    guard let store else { throw ExitError(.usage, "option '--store' is missing.") }
    try await database.writing.withQueue {
      try await $0.createQueue(queue.argument, store: store.argument)
    }
    try output.print(
      [.init("queue", .string(queue.argument)), .init("store", .string(store.argument))],
      orSay: "created the queue \(queue.argument) on the store \(store.argument)")
  }
}
