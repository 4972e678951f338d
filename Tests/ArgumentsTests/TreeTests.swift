import Testing

@testable import Arguments

/// What is wrong in the tables of a node and all below it.
func faults(in node: CommandNode, path: String) -> [String] {
  var found: [String] = []
  let spellings = node.options.flatMap(\.spellings)
  for spelling in Set(spellings) where spellings.count(where: { $0 == spelling }) > 1 {
    found.append("\(path): \(spelling) twice")
  }
  for option in node.options {
    if option.help.isEmpty { found.append("\(path): --\(option.long) has no help") }
    if let shown = option.placeholder, !shown.hasPrefix("<") || !shown.hasSuffix(">") {
      found.append("\(path): --\(option.long) takes \(shown)")
    }
  }
  for operand in node.operands.dropLast() where operand.repeats {
    found.append("\(path): <\(operand.name)> repeats but is not the last")
  }
  for (operand, next) in zip(node.operands, node.operands.dropFirst())
  where !operand.isRequired && next.isRequired {
    found.append("\(path): <\(next.name)> is required after one that is not")
  }
  let names = node.children.map(\.name)
  for name in Set(names) where names.count(where: { $0 == name }) > 1 {
    found.append("\(path): \(name) twice")
  }
  return found + node.children.flatMap { faults(in: $0, path: "\(path) \($0.name)") }
}

private struct Faulty: Command {
  static let name = "faulty"
  static let abstract = "Be wrong."
  static let options: [Option<Self>] = [
    .flag("host", short: "h", \.flag, "Clashes with --help."), .flag("host", \.flag, ""),
    .value("name", "name", \.name, "No brackets."),
  ]
  static let operands: [Operand<Self>] = [
    .repeated("all", \.all, isRequired: false, "All."), .required("one", \.name, "One."),
  ]
  var flag = false
  var name = ""
  var all: [String] = []
  func run() async throws {}
}

struct TreeTests {
  @Test func `no command has two options of one name or one without help`() {
    #expect(faults(in: sample.root, path: "haul") == [])
  }

  @Test func `the check finds what is wrong`() {
    let node = CommandNode(group: "haul", "Test.", [CommandNode(Faulty.self)])
    #expect(
      faults(in: node, path: "haul").sorted() == [
        "haul faulty: --host has no help", "haul faulty: --host twice",
        "haul faulty: --name takes name", "haul faulty: -h twice",
        "haul faulty: <all> repeats but is not the last",
        "haul faulty: <one> is required after one that is not",
      ])
  }
}
