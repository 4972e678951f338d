import Arguments
import JobQueue
import Reports
import Terminal

struct StoreListCommand: HaulCommand {
  static let name = "list"
  static let abstract = "List stores with their instances."
  static let discussion = """
    A directory that machines share is one instance; each local disk is one of its own. ROOT is where \
    MACHINE has it; WORKERS counts live workers that mount it.
    """
  static let examples = [
    Example("haul store list", "All stores."),
    Example("haul store list --json", "The same for a program."),
  ]
  static let options: [Option<Self>] =
    group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("store", \.names, isRequired: false, "Names of stores; all without.").from(
      .names("store"))
  ]

  var names: [String] = []
  var limit = LimitOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let rows = try await database.withQueue { try await $0.stores(names, limit: limit.asked) }
    try output.print(
      rows, upTo: limit, label: "haul store list", StoreRow.columns,
      json: StoreRow.moreColumns)
  }
}
