import Arguments
import JobQueue
import Terminal
import Worker

struct StoreInitCommand: HaulCommand {
  static let name = "init"
  static let abstract = "Make a directory an instance of a store."
  static let discussion = """
    Writes a marker with a random id below .haul in the directory and records it in the database, \
    with a queue of the store's name; the first store also gets the queue default, which takes what is \
    submitted without --queue. Machines that \
    mount the same share see the same marker and need this once; each local disk needs it for \
    itself. Running it again changes nothing.
    """
  static let examples = [
    Example("haul store init films /srv/films", "Makes /srv/films the store films."),
    Example("haul store init scratch .", "Makes the current directory a store."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.store, "Letters, digits, '.', '_' and '-', at most 63.").from(
      .names("store")),
    .required("directory", \.directory, "A directory that is there and can be written.").from(
      .directories),
  ]

  var store = PoolName.unset
  var directory = ""
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    // The database comes first: a marker that nobody knows of would be left behind.
    let (root, instance) = try await database.withQueue { queue in
      let (marker, root) = try initialise()
      let instance = try await queue.initStore(
        name: store.argument, marker: marker, machine: PoolWorker.machine, root: root)
      return (root, instance)
    }
    try output.print(
      [
        .init("store", .string(store.argument)), .init("instance", .number(instance)),
        .init("root", .string(root)),
      ],
      orSay: "\(root) is instance \(instance) of the store \(store.argument)")
  }

  private func initialise() throws -> (marker: String, root: String) {
    do {
      return try Store.initialise(directory: directory)
    } catch StoreError.noDirectory {
      throw ExitError(
        .configuration,
        "\(directory) is not a directory that can be opened; a new one is made with: mkdir -p "
          + shellWord(directory))
    }
  }
}
