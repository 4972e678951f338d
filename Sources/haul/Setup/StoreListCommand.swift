import Arguments
import JobQueue
import Reports
import Terminal

struct StoreListCommand: HaulCommand {
  static let name = "list"
  static let abstract = "List stores with their directories."
  static let discussion = """
    An instance is one directory of a store. A directory that several machines share is one instance. Each \
    local disk is an instance of its own. ROOT is the path of the directory on MACHINE. WORKERS counts the \
    live workers that mount the directory.
    """
  static let examples = [
    Example("haul store list", "Lists all stores."),
    Example("haul store list --json", "Prints all stores as JSON."),
  ]
  static let options: [Option<Self>] =
    group(\.limit) + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("store", \.names, isRequired: false, "Names of stores. Default: all.").from(
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
