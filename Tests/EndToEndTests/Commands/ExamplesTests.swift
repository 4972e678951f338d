import Foundation
import Glibc
import TestSupport
import Testing

/// An example as help shows it.
struct HelpExample: Sendable {
  /// The command it stands under: `haul store init`.
  let command: String
  let line: String

  /// Whether it runs until it is told to stop.
  var isEndless: Bool {
    ["haul worker", "haul coordinator", "haul up"].contains(command)
      && !line.contains("--exit-when-idle")
  }

  /// Those of all commands, read from the help of the built program.
  static func all() async throws -> [HelpExample] {
    try await commands(below: "haul").flatMap { command, help in
      section("EXAMPLES", of: help).filter { !$0.hasPrefix("      ") }
        .map { HelpExample(command: command, line: $0.trimmingCharacters(in: .whitespaces)) }
    }
  }

  /// Every command that runs, with its help.
  static func commands(
    below path: String
  ) async throws -> [(command: String, help: [String])] {
    let words = path.split(separator: " ").dropFirst().map(String.init)
    let help = try await ChildProcess.run(
      HaulProcess.path, words + ["--help"], environment: ["COLUMNS": "1000"]
    ).standardOutput
    guard help.contains("USAGE: \(path) [<options>] <command>") else { return [(path, help)] }
    let titles = help.filter { $0.hasSuffix(":") && !$0.hasPrefix(" ") }.map { $0.dropLast() }
    var found: [(command: String, help: [String])] = []
    for title in titles where !["OPTIONS", "EXIT CODES"].contains(title) {
      for row in section(String(title), of: help) {
        guard let name = row.split(separator: " ").first, !row.contains("--help' for more") else {
          continue
        }
        found += try await commands(below: "\(path) \(name)")
      }
    }
    return found
  }

  /// The lines below a heading, up to a blank one.
  private static func section(_ title: String, of help: [String]) -> [String] {
    Array(help.drop { $0 != "\(title):" }.dropFirst().prefix { !$0.isEmpty })
  }
}

/// Examples that run one after another on the same scene: all those of one command, or of the commands that only read. A scene
/// takes seconds to make.
struct HelpExamples: Sendable, CustomTestStringConvertible {
  /// The commands that change nothing, so that their examples share one scene.
  private static let reading: Set = [
    "haul batches", "haul batch show", "haul export", "haul failures", "haul history", "haul hosts",
    "haul host policies", "haul job", "haul jobs", "haul metrics", "haul queues", "haul report",
    "haul store list", "haul top", "haul why", "haul workers",
  ]

  /// The commands whose examples end what the next example needs, so that each has a scene of its own.
  private static let ending: Set = ["haul drain", "haul queue delete"]

  let name: String
  let examples: [HelpExample]

  var testDescription: String { name }

  static func all() async throws -> [HelpExamples] {
    let examples = try await HelpExample.all()
    return Dictionary(grouping: examples) { example in
      if ending.contains(example.command) { return example.line }
      return reading.contains(example.command) ? "commands that read" : example.command
    }.sorted { $0.key < $1.key }.map { HelpExamples(name: $0.key, examples: $0.value) }
  }
}

struct ExamplesTests {
  @Test(arguments: try await HelpExamples.all())
  func `every example of the help does what it says`(group: HelpExamples) async throws {
    try await ExampleScene.open { scene in
      for example in group.examples { try await run(example, on: scene) }
    }
  }

  private func run(_ example: HelpExample, on scene: ExampleScene) async throws {
    let line = scene.rewritten(example.line)
    try #require(
      scene.strays(in: line) == [],
      "map what '\(example.line)' names in ExampleScene.rewritten, or say it with a name that is there"
    )
    if example.command == "haul top" { return try await scene.look(line) }
    let process = try scene.start(line)
    if example.isEndless {
      // A pool that is still being made ends as one that was not.
      let sign = example.command == "haul up" ? "Ctrl-C" : ""
      try await process.first("a line of '\(line)'") { output in
        output.standardError.contains { $0.hasPrefix(sign) } || output.exit != nil ? () : nil
      }
      process.signal(SIGTERM)
    }
    let output = try await process.result(within: .seconds(60))
    #expect(output.exit == .code(0), "\(line): \(output.standardError.joined(separator: "\n"))")
  }

  @Test func `every command has two examples`() async throws {
    let counts = Dictionary(grouping: try await HelpExample.all(), by: \.command).mapValues(\.count)
    for (command, _) in try await HelpExample.commands(below: "haul") {
      #expect(counts[command, default: 0] >= 2, "\(command)")
    }
  }
}
