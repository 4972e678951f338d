import Arguments

enum SampleFormat: String, CaseIterable, OptionValue { case text, json }

struct DatabaseOptions: OptionGroup {
  static let title: String? = "DATABASE OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "database", "<conninfo>", \.database, environment: "HAUL_DATABASE_URL",
      "How to reach the database.")
  ]
  var database: String?
}

/// A command with every kind of option and operand.
struct SampleCommand: Command {
  static let name = "worker"
  static let abstract = "Run a worker."
  static let discussion = """
    Claims jobs of its queues and transfers them until it is told to stop; a second paragraph is
    rewrapped to the width of the terminal.

      kept   as it is
    """
  static let examples = [Example("haul worker --queue films", "Transfers the queue films.")]
  static let options: [Option<Self>] =
    [
      .value(
        "concurrency", short: "c", "<n>", \.concurrency, in: 1...1000,
        environment: "HAUL_CONCURRENCY", "Transfers in flight."),
      .values("queue", short: "q", "<name>", \.queues, environment: "HAUL_QUEUES", "A queue."),
      .value("drain-timeout", "<duration>", \.drain, "How long a drain may take."),
      .value("limit-rate", "<size>", \.rate, "Bytes a second."),
      .value("log-format", "<format>", \.format, "How lines of the log look."),
      .flag("once", short: "1", \.once, environment: "HAUL_ONCE", "Stop when idle."),
      .flag("verbose", short: "v", \.verbose, "Say more."),
    ] + group(\.database)
  static let operands: [Operand<Self>] = [
    .optional("priority", \.priority, "Only jobs of this priority."),
    .repeated("store", \.stores, isRequired: false, "Stores to serve."),
  ]

  var concurrency = 16
  var queues = ["default"]
  var drain = Duration.seconds(30)
  var rate: ByteCount?
  var format = SampleFormat.text
  var once = false
  var verbose = false
  var database = DatabaseOptions()
  var priority: Int?
  var stores: [String] = []

  func run() async throws {}
}

struct StoreInit: Command {
  static let name = "init"
  static let abstract = "Make a directory a store."
  static let operands: [Operand<Self>] = [
    .required("name", \.name, "Its name."), .required("directory", \.directory, "Where it is."),
  ]
  var name = ""
  var directory = ""

  func run() async throws { throw ExitError(.configuration, "no directory \(directory).") }
}

struct Secret: Command {
  static let name = "__complete"
  static let abstract = "Complete a word."
  static let isHidden = true
  func run() async throws {}
}

let sample = CommandTree(
  name: "haul", version: "1.2.3", "A distributed download worker pool.",
  [
    CommandSection("RUN", [CommandNode(SampleCommand.self), CommandNode(Secret.self)]),
    CommandSection(
      "MANAGE", [CommandNode(group: "store", "Manage stores.", [CommandNode(StoreInit.self)])]),
  ])
