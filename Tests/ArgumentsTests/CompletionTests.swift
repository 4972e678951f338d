import Testing

@testable import Arguments
@testable import haul

/// What completes the last of these words, in the order of help: words, then where more come from.
private func completions(_ line: String, in tree: CommandTree = sample) -> Completion {
  tree.complete(line.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
}

struct CompletionTests {
  @Test(arguments: [
    ("", ["worker", "store"]), ("w", ["worker"]), ("__", []), ("help s", ["store"]),
    ("store ", ["init"]), ("nonsense ", []), ("--v", ["--version"]),
    ("--", ["--version", "--help"]),
    ("worker --log", ["--log-format"]), ("worker --log-format ", ["text", "json"]),
    ("worker --log-format j", ["json"]), ("worker --log-format=j", ["--log-format=json"]),
    ("worker --nonsense=", []), ("worker --nonsense --dat", ["--database"]),
    ("worker -c 4 --onc", ["--once"]), ("worker -vc --onc", []), ("worker -vc4 --onc", ["--once"]),
    ("worker -- --onc", []), ("worker --concurrency ", []), ("worker 1 ", []),
  ])
  func `the last word is completed as the parser would read it`(line: String, words: [String]) {
    #expect(completions(line).words.map(\.text) == words)
  }

  @Test(arguments: [
    ("jobs --batch mo", ValueSource.names("batch"), "mo", ""),
    ("jobs --queue=a", .names("queue"), "a", "--queue="),
    ("submit -i ", .files, "", ""), ("drain ", .names("worker"), "", ""),
    ("rescue worker ", .names("worker"), "", ""),
    ("worker --store fi", .mounts("store"), "fi", ""),
    ("worker --store films=/s", .directories, "/s", "films="),
    ("check --store=films=/s", .directories, "/s", "--store=films="),
    ("store init films ", .directories, "", ""),
  ])
  func `what must be looked up is named`(
    line: String, source: ValueSource, prefix: String, lead: String
  ) {
    let completion = completions(line, in: Haul.tree)
    #expect(completion.source == source)
    #expect(completion.prefix == prefix)
    #expect(completion.lead == lead)
  }

  @Test func `a command takes no more operands than it has`() {
    #expect(completions("queue pause films ", in: Haul.tree) == Completion())
  }

  @Test func `options given before count`() {
    let completion = completions("jobs --database=x -h --database y --batch ", in: Haul.tree)
    #expect(completion.given == ["database": "y"])
  }

  @Test(arguments: [
    ("haul ", ["haul", ""]), ("haul  jo", ["haul", "jo"]),
    (#"haul 'a b' "c \" d" e\ f"#, ["haul", "a b", #"c " d"#, "e f"]),
    ("haul 'a", ["haul", "a"]), ("", [""]), (#""a\b\$" 'c\d'"#, [#"a\b$"#, #"c\d"#]),
  ])
  func `a line is cut as bash cuts it`(line: String, words: [String]) {
    #expect(ShellWords(line).words == words)
  }

  @Test(arguments: [
    ("--host=example.org", "--host=ex", "ex", "example.org\n"),
    ("example.org:8080", "example.org:8", "8", "8080\n"), ("me@home", "me@h", "@h", "@home\n"),
    ("monday", "m", "m", "monday\n"), ("a b", "a", "a", "a\\ b\n"),
    ("a b", "a\\ ", "a\\ ", "a\\ b\n"), ("a=b c", "a\\=b", "a\\=b", "a=b\\ c\n"),
    ("a=b c", "\"a=b\"\\ ", "\"a=b\"\\ ", "a=b\\ c\n"),
    ("$(x)", "", "", "\\$\\(x\\)\n"), ("a;b", "a", "a", "a\\;b\n"), ("ä!", "", "", "ä\\!\n"),
    ("--batch=a b: c", "--batch=a\\ b:", "", "\\ c\n"), ("a: b", "\"a: ", "a: ", "a: b\n"),
    ("--batch=a: $b", "--batch=\"a: ", "a: ", "a: \\$b\n"),
    ("it's $5", "'i", "i", "it'\\''s $5\n"), ("a\"b", "\"a", "a", "a\\\"b\n"),
    ("a!", "\"a", "a", ""),
  ])
  func `bash gets what stands in the place of what it replaces, as it would have to be typed there`(
    text: String, word: String, replaced: String, line: String
  ) {
    #expect(BashLine("haul \(word)", replacing: replaced).candidate(text) == line)
  }
}
