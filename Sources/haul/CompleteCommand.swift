import Arguments
import JobQueue
import Log

/// What the shells' stubs ask for completions; see `CompletionCommand`. Never complains.
struct CompleteCommand: HaulCommand {
  static let name = "__complete"
  static let abstract = "Complete a command line."
  static let isHidden = true
  static let options: [Option<Self>] =
    [
      .value("line", "<text>", \.line, "The whole line up to the cursor, for bash."),
      .value(
        "replaced", "<text>", \.replaced, "What of its end bash puts a candidate in the place of."),
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
    var completion = Haul.tree.complete(
      line.map { Array(ShellWords.split($0).dropFirst()) } ?? words)
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
    if let line {
      lead = String(completion.prefix.prefix(max(0, Self.kept(line, replaced) - lead.count)))
    }
    var reply = "\(kind)\n\(completion.prefix)\n\(lead)\n"
    for word in completion.words {
      reply +=
        line.map { Self.forBash(word.text, $0, replaced) } ?? "\(word.text)\t\(word.help)\n"
    }
    try StandardStream.output.write(reply)
  }

  /// bash puts a candidate on the line as it is, in place of `replaced`, with which that ends.
  static func forBash(_ text: String, _ line: String, _ replaced: String) -> String {
    let rest = String(text.dropFirst(kept(line, replaced)))
    return ShellWords(line).quoted(rest).map { $0 + "\n" } ?? ""
  }

  /// How many characters of the last word stand before `replaced`.
  private static func kept(_ line: String, _ replaced: String) -> Int {
    ShellWords.split(String(line.dropLast(replaced.count))).last?.count ?? 0
  }

  /// Names from the database; none where it does not answer in time, or not at all.
  private func names(
    _ kind: String, _ completion: Completion, ending: String
  ) async -> [Completion.Word] {
    var database = database
    if let given = completion.given["database"] { database.given = given }
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
