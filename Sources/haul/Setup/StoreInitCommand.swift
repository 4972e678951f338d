import Arguments
import HaulSystem
import JobModel
import JobQueue
import Stores
import Terminal
import Worker

struct StoreInitCommand: HaulCommand {
  static let name = "init"
  static let role: PoolRole? = .admin
  static let abstract = "Set up a directory for a store."
  static let discussion = """
    Haul writes a marker with a random id below .haul in the directory, and records the marker in the \
    database. It also creates a queue with the name of the store. The first store also gets the queue default, \
    which takes jobs submitted without --queue.

    If several machines mount the same share, run the command once: all machines see the same marker. If the \
    machines have local disks, run the command for each disk. Each disk then gets a part of the files, and \
    only workers on that disk can continue an interrupted download.

    A second run for the same directory changes nothing. Haul refuses a directory if this database does not \
    know its marker. Such a directory belongs to another pool or to a lost database. To use the directory \
    anyway, give --adopt.
    """
  static let examples = [
    Example("haul store init films /srv/films", "Sets up /srv/films as the store films."),
    Example("haul store init scratch .", "Sets up the current directory as a store."),
  ]
  static let options: [Option<Self>] =
    [
      .flag(
        "adopt", \.adopts,
        "Use a directory that is a store of another pool. Both pools can use the directory at the same time. They share the finished files, but not the part files."
      )
    ] + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required(
      "name", \.store,
      "The name of the store: letters, digits, '.', '_' and '-', at most 63 characters."
    ).from(
      .names("store")),
    .required("directory", \.directory, "An existing directory that you can write to.").from(
      .directories),
  ]

  var store = PoolName.unset
  var directory = ""
  var adopts = false
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    // The database and this user's rights are checked first. Otherwise a marker that the database does not know could remain.
    let (root, instance, made, hasQueue) = try await database.writing.withQueue { queue in
      let may = try await queue.rights()
      guard may.administer else { throw ExitError(lacking: Self.role, prefix: may.prefix) }
      try await requireOwn(queue)
      let before = try await queues(queue)
      let (marker, root) = try initialise()
      let instance = try await queue.initStore(
        name: store.argument, marker: marker, machine: PoolWorker.machine, root: root)
      let made = try await queues(queue).filter { !before.contains($0) }
      return (root, instance, made, try await queue.hasQueue(ofStore: store.argument))
    }
    try output.print(
      [
        .init("store", .string(store.argument)), .init("instance", .number(instance)),
        .init("root", .string(root)), .init("queues", .array(made.map(JSONValue.string))),
      ],
      orSay: "\(root) is a directory of the store \(store.argument) (instance \(instance))"
        + (hasQueue ? Self.news(of: made) : noQueue))
  }

  /// Returns text such as `; created the queue films`. Explains the queue `default` if it is new. Empty if no queue is new.
  private static func news(of queues: [String]) -> String {
    if queues.isEmpty { return "" }
    let names = queues.map {
      $0 == "default"
        ? "the queue default, which takes jobs submitted without --queue" : "the queue \($0)"
    }
    return "; created \(names.joined(separator: " and "))"
  }

  /// The text if no queue was created, because another store's queue has this name.
  private var noQueue: String {
    "; no queue uses this store yet, because the queue \(store.argument) belongs to another store. Create a queue with: "
      + "haul queue create NAME --store \(store.argument)"
  }

  /// Returns which of two queues exist: the queue with the name of the store, and the queue `default`.
  private func queues(_ queue: JobQueue) async throws -> [String] {
    var names: [String] = []
    for name in store.argument == "default" ? ["default"] : [store.argument, "default"] {
      names += try await queue.names("queue", startingWith: name).filter { $0 == name }
    }
    return names
  }

  /// Checks that the directory is not a store of another pool. With `--adopt`, checks nothing.
  ///
  /// - Throws: if the directory has a marker that the database does not know.
  private func requireOwn(_ queue: JobQueue) async throws {
    let mount = StoreMount(name: store.argument, directory: directory)
    guard !adopts, let marker = try? Store.marker(mount) else { return }
    if try await queue.stores().contains(where: { $0.marker == marker }) { return }
    throw ExitError(
      .configuration,
      "\(directory) is already a store of another pool. "
        + "Name that pool with --database or --schema, or use the directory in this pool too with: "
        + "haul store init --adopt \(store.argument) \(shellWord(directory))")
  }

  private func initialise() throws -> (marker: String, root: String) {
    let named = NamedDirectory(directory)
    do {
      return try Store.initialise(named)
    } catch StoreError.absent(let path, _) {
      try named.requireRight()
      throw ExitError(
        .configuration,
        "\(path) does not exist. Create it with: mkdir -p \(shellWord(path))")
    }
  }
}
