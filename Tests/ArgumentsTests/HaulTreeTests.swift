import Foundation
import TestSupport
import Testing

@testable import Arguments
@testable import haul

/// Every command that runs, with its line as typed.
private func commands(
  in node: CommandNode, path: String = "haul"
) -> [(node: CommandNode, path: String)] {
  if node.isHidden { return [] }
  if node.parse != nil { return [(node, path)] }
  return node.children.flatMap { commands(in: $0, path: "\(path) \($0.name)") }
}

private func words(_ line: String) -> [String] { ShellWords(line).words }

private func help(_ line: String) -> String? {
  let resolution = Haul.tree.resolve(words(line), environment: [:])
  guard case .text(let text) = resolution else { return nil }
  return text
}

/// The tree of the program itself.
struct HaulTreeTests {
  @Test func `no command has two options of one name or one without help`() {
    #expect(faults(in: Haul.tree.root, path: "haul") == [])
  }

  @Test func `every command has an abstract of one sentence and two examples`() {
    for (node, path) in commands(in: Haul.tree.root) {
      #expect(node.abstract.hasSuffix("."), "\(path)")
      #expect(node.examples.count >= 2, "\(path)")
    }
  }

  /// What lists is the plural, and not a command below the singular; but `store list` is one.
  @Test(arguments: [
    ("host", "hosts"), ("queue", "queues"), ("batch", "batches"),
  ])
  func `who looks for a list below the singular is told the plural`(group: String, lister: String) {
    guard case .usage(let message, let path) = Haul.tree.resolve([group, "list"], environment: [:])
    else {
      Issue.record("\(group) list is taken")
      return
    }
    #expect(path == "haul \(group)")
    #expect(message == "unknown command 'list'. Did you mean 'haul \(lister)'?")
  }

  @Test func `habits are no options, and are answered`() {
    let options = GetCommand.options.flatMap(\.spec.spellings)
    for habit in GetCommand.habits.keys {
      #expect(!options.contains(habit))
      guard
        case .usage(let message, path: "haul get") = Haul.tree.resolve(
          ["get", habit, "http://h/a"], environment: [:])
      else {
        Issue.record("\(habit) is taken")
        continue
      }
      #expect(message.hasPrefix("unknown option '\(habit)': "))
    }
  }

  @Test func `commands of other programs lead to those of Haul`() {
    let names = Set(Haul.tree.root.children.map(\.name))
    for (word, name) in Haul.synonyms {
      #expect(!names.contains(word) && names.contains(name), "\(word)")
    }
  }

  @Test(arguments: [
    ("unpause --batch a", "unknown command 'unpause'. Did you mean 'resume'?"),
    ("rescue 4", "unknown command '4'. Did you mean 'worker 4'?"),
    (
      "get -c http://h/a",
      "option '-c' must be a whole number from 1 to 256, not 'http://h/a'. Haul always continues a partial file. Here -c is short for --concurrency."
    ),
    (
      "get -j4 -c 5 http://h/a",
      "option '-c' is given more than once. Give it once. Haul always continues a partial file. Here -c is short for --concurrency."
    ),
    (
      "get --limit-rate x http://h/a",
      "option '--limit-rate' must be a rate of at least 1 byte per second, such as 10M or 512K, not 'x'."
    ),
  ])
  func `what other programs would take is answered`(line: String, answer: String) {
    let words = line.split(separator: " ").map(String.init)
    guard case .usage(let message, _) = Haul.tree.resolve(words, environment: [:]) else {
      Issue.record("\(line) is taken")
      return
    }
    #expect(message == answer)
  }

  @Test func `a rate may be written as other programs write it`() {
    for text in ["2M", "2m", "2MiB", "2MiB/s", "2M/s", "2097152"] {
      #expect(RateArgument(argument: text)?.rate.bytes == 2 << 20, "\(text)")
    }
    for text in ["0", "/s", "2M/m", ""] { #expect(RateArgument(argument: text) == nil, "\(text)") }
  }

  @Test func `a queue takes every option of its jobs, and none for it`() {
    let settable = Set(QueueSetCommand.options.map(\.spec.long))
    let submitted =
      SubmitJobOptions.options.map(\.spec.long)
    // Of the hosts that a queue's jobs name no header is right for all.
    #expect(Set(submitted).subtracting(settable) == ["header"])
    for (line, says) in [
      ("--max-running none --limit-rate-per-file none --remote-time none", nil),
      (
        "--limit-rate 1MiB",
        "--limit-rate-per-file limits each download. 'haul worker --limit-rate'"
      ),
      ("--max-running 0", "'--max-running' must be a whole number from 1 to 1000000, or none"),
      ("--if-exists never", "'--if-exists' must be fail, skip, replace or rename, or none"),
    ] as [(String, String?)] {
      switch Haul.tree.resolve(words("queue set films \(line)"), environment: [:]) {
      case .command: #expect(says == nil, "\(line)")
      case .usage(let message, _): #expect(says.map(message.contains) == true, "\(message)")
      case let other: Issue.record("\(other)")
      }
    }
  }

  @Test func `every example is a line of its own command`() {
    for (node, path) in commands(in: Haul.tree.root) {
      for example in node.examples {
        let resolution = Haul.tree.resolve(
          Array(words(example.line).dropFirst()), environment: [:])
        guard case .command(_, let resolved) = resolution else {
          Issue.record("'\(example.line)' is no command: \(resolution)")
          continue
        }
        #expect(resolved == path)
      }
    }
  }

  /// The texts stand in files of this folder's Golden.
  @Test(arguments: [("haul", "--help"), ("submit", "submit --help")])
  func `help reads as it should`(file: String, line: String) throws {
    let golden = repositoryRoot.appending(path: "Tests/ArgumentsTests/Golden/\(file).txt")
    #expect(help(line) == (try String(contentsOf: golden, encoding: .utf8)))
  }

  @Test func `the version`() {
    #expect(help("version") == help("--version"))
    let lines = help("--version")?.split(separator: "\n") ?? []
    let commit = revision.isEmpty ? [] : [/commit [0-9a-f]{9}/]
    let shape: [Regex<Substring>] =
      [/haul 0\.1\.0/] + commit + [
        /libcurl [0-9.]+ \(OpenSSL\/[0-9.]+, nghttp2\/[0-9.]+, zlib\/[0-9.]+\)/,
        /libpq [0-9]+\.[0-9]+/, /OpenSSL [0-9.]+/, /Swift 6\.[0-9](?: or newer)?/, /schema [0-9]+/,
      ]
    #expect(lines.count == shape.count)
    for (line, pattern) in zip(lines, shape) {
      #expect((try? pattern.wholeMatch(in: line)) ?? nil != nil, "\(line)")
    }
  }
}

struct TimeArgumentTests {
  @Test(arguments: [
    ("2026-11-21T18:00:00Z", 1_795_284_000.0), ("2026-11-21T19:00:00+01:00", 1_795_284_000),
    ("2026-11-21T13:00:00-05:00", 1_795_284_000), ("2028-02-29T00:00:00Z", 1_835_395_200),
    ("2026-11-21T18:00:00.25Z", 1_795_284_000.25),
  ])
  func `a time is read with its offset`(text: String, seconds: Double) throws {
    guard case .at(seconds) = try #require(TimeArgument(argument: text)) else {
      Issue.record("\(text) is another time")
      return
    }
  }

  @Test(arguments: [
    "tomorrow", "2026-11-21", "2026-11-21T18:00:00", "12", "2026-13-01T00:00:00Z",
    "2027-02-30T00:00:00Z", "2027-02-29T00:00:00Z", "2100-02-29T00:00:00+01:00",
    "2027-04-31T00:00:00Z", "2027-01-00T00:00:00Z", "2027-01-01T24:00:00Z", "2027-01-01T00:60:00Z",
  ])
  func `a time without its offset is refused, and what is in no calendar`(text: String) {
    #expect(TimeArgument(argument: text) == nil)
  }
}
