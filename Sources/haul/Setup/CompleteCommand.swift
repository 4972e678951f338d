import Arguments
import HaulSystem
import JobQueue
import Postgres

/// Answers the shells' completion scripts; see `CompletionCommand`. It never reports errors.
struct CompleteCommand: HaulCommand {
  static let name = "__complete"
  static let abstract = "Complete a command line."
  static let isHidden = true
  static let options: [Option<Self>] =
    [
      .value("line", "<text>", \.line, "The whole line up to the cursor, for bash."),
      .value(
        "replaced", "<text>", \.replaced, "The end of the line that bash replaces with a candidate."
      ),
      .value(
        "timeout", "<duration>", \.timeout, environment: "HAUL_COMPLETION_TIMEOUT",
        "How long to wait for the database."),
    ] + group(\.database)
  static let operands: [Operand<Self>] = [
    .repeated("word", \.words, isRequired: false, "The words after the program's name.")
  ]

  var line: String?
  var replaced = ""
  var words: [String] = []
  var timeout = Duration.milliseconds(300)
  var database = DatabaseOptions()

  func perform() async throws {
    let typed = line.map { BashLine($0, replacing: replaced) }
    var completion = Haul.tree.complete(typed.map { Array($0.words.dropFirst()) } ?? words)
    var kind = "words"
    switch completion.source {
    case nil: break
    case .files: kind = "files"
    case .directories: kind = "directories"
    case .names(let name): completion.words += await names(name, completion, ending: "")
    case .mounts(let name):
      kind = "partial"
      completion.words += await names(name, completion, ending: "=")
    }
    var lead = completion.lead
    if let typed { lead = String(completion.prefix.prefix(max(0, typed.kept - lead.count))) }
    var reply = "\(kind)\n\(completion.prefix)\n\(lead)\n"
    for word in completion.words {
      reply += typed.map { $0.candidate(word.text) } ?? "\(word.text)\t\(word.help)\n"
    }
    try StandardStream.output.write(reply)
  }

  /// Returns names from the database, or none if the database does not answer in time.
  private func names(
    _ kind: String, _ completion: Completion, ending: String
  ) async -> [Completion.Word] {
    var database = database
    if let given = completion.given["database"] { database.given = given }
    if let given = completion.given["schema"] { database.schemaName = SchemaName(given) }
    let (replies, input) = AsyncStream.makeStream(of: [String].self)
    Task { [database] in
      let found = try? await database.withQueue {
        try await $0.names(kind, startingWith: completion.prefix)
      }
      input.yield(found ?? [])
    }
    Task {
      try? await Task.sleep(for: timeout)
      input.yield([])
    }
    for await names in replies {
      return names.filter { !$0.unicodeScalars.contains(where: SafeText.isUnsafe) }
        .map { Completion.Word(completion.lead + $0 + ending) }
    }
    return []
  }
}
