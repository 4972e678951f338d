import Arguments
import JobModel
import JobQueue
import Terminal

struct QueueCreateCommand: HaulCommand {
  static let name = "create"
  static let role: PoolRole? = .admin
  static let abstract = "Make a queue on a store."
  static let discussion = """
    Several queues may share a store; they are watched, steered and served apart. 'haul store init' has \
    made one of the store's own name.
    """
  static let examples = [
    Example("haul queue create music --store archive", "Files of music end up in archive."),
    Example("haul queue create urgent --store archive", "A second queue on the same store."),
  ]
  static let options: [Option<Self>] =
    [
      .value("store", "<name>", \.store, "The store where its files end up; must be given.")
        .from(.names("store"))
    ]
    + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.queue, "Letters, digits, '.', '_' and '-', at most 63.")
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
      orSay: "queue \(queue.argument) on the store \(store.argument)")
  }
}
