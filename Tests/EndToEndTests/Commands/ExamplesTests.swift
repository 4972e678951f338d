import Foundation
import Glibc
import TestSupport
import Testing

/// An example as help shows it.
struct HelpExample: Sendable, CustomTestStringConvertible {
  /// The command it stands under: `haul store init`.
  let command: String
  let line: String

  var testDescription: String { line }

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

struct ExamplesTests {
  @Test(arguments: try await HelpExample.all())
  func `every example of the help does what it says`(example: HelpExample) async throws {
    try await ExampleScene.open { scene in
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
  }

  @Test func `every command has two examples`() async throws {
    let counts = Dictionary(grouping: try await HelpExample.all(), by: \.command).mapValues(\.count)
    for (command, _) in try await HelpExample.commands(below: "haul") {
      #expect(counts[command, default: 0] >= 2, "\(command)")
    }
  }
}
