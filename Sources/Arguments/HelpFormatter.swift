/// Lays help out as swift-argument-parser does: two columns, the second from column 26.
struct HelpFormatter {
  /// Columns to fill.
  private let width: Int
  private static let column = 26
  /// More than these a list of values is not for the help of one option.
  private static let mostValues = 12

  /// Formats to the width in the environment variable COLUMNS, at least 40; 80 columns without it.
  init(environment: [String: String]) {
    width = max(environment["COLUMNS"].flatMap { Int($0) } ?? 80, 40)
  }

  /// The whole help of `node`, typed as `path`.
  func help(of node: CommandNode, path: String) -> String {
    var blocks = [wrapped("OVERVIEW: \(node.abstract)"), prose(node.discussion)]
    blocks.append(wrapped("USAGE: \(usage(of: node, path: path))"))
    blocks.append(
      section("ARGUMENTS", node.operands.map { ("<\($0.name)>", Self.describe($0)) }))
    for title in Self.titles(of: node) {
      let rows = node.options.filter { $0.section == title }.map { (label($0), Self.describe($0)) }
      blocks.append(section(title ?? "OPTIONS", rows))
    }
    for group in node.sections {
      let rows = group.commands.filter { !$0.isHidden }.map { ($0.name, $0.abstract) }
      blocks.append(section(group.title, rows))
    }
    if !node.sections.isEmpty {
      blocks.append("  See '\(path) <command> --help' for more.")
    }
    blocks.append(examples(node.examples))
    if node.options.contains(.version) {
      blocks.append(section("EXIT CODES", ExitCode.table.map { ($0.code, $0.meaning) }))
    }
    return blocks.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
  }

  private func usage(of node: CommandNode, path: String) -> String {
    let operands = node.parse == nil ? ["<command>"] : node.operands.map(\.usage)
    return ([path, "[<options>]"] + operands).joined(separator: " ")
  }

  private func label(_ option: OptionSpec) -> String {
    let names = option.spellings.joined(separator: ", ")
    return option.placeholder.map { "\(names) \($0)" } ?? names + (option.isDeniable ? "[=no]" : "")
  }

  /// The headings of a command's options, its own first, which have none.
  static func titles(of node: CommandNode) -> [String?] {
    var titles: [String?] = [nil]
    for option in node.options where !titles.contains(option.section) {
      titles.append(option.section)
    }
    return titles
  }

  /// What an operand means, and what it may be.
  static func describe(_ operand: OperandSpec) -> String {
    operand.help + notes(values: operand.candidates, default: "")
  }

  /// What an option means, what it may be, its default and its environment variable.
  static func describe(_ option: OptionSpec) -> String {
    option.help + notes(values: option.candidates, default: option.defaultText)
      + (option.environment.map { " [env:\u{a0}\($0)]" } ?? "")
  }

  private static func notes(values: [String], default text: String) -> String {
    var notes: [String] = []
    if !values.isEmpty && values.count <= Self.mostValues {
      notes.append("values: \(values.joined(separator: ", "))")
    }
    if !text.isEmpty { notes.append("default: \(text)") }
    return notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"
  }

  private func section(_ title: String, _ rows: [(label: String, help: String)]) -> String {
    if rows.isEmpty { return "" }
    let lines = rows.map { row in
      let help = wrapped(row.help, indent: Self.column)
      let label = "  \(row.label)"
      // A label that leaves no room has a line to itself.
      guard label.count < Self.column, !help.isEmpty else {
        return help.isEmpty ? label : "\(label)\n\(help)"
      }
      return label + help.dropFirst(label.count)
    }
    return "\(title):\n" + lines.joined(separator: "\n")
  }

  private func examples(_ examples: [Example]) -> String {
    if examples.isEmpty { return "" }
    let lines = examples.map { "  \($0.line)\n" + wrapped($0.help, indent: 6) }
    return "EXAMPLES:\n" + lines.joined(separator: "\n")
  }

  /// Paragraphs, each wrapped; a line that starts with a space stays as it is.
  private func prose(_ text: String) -> String {
    var lines: [String] = []
    var paragraph: [Substring] = []
    for line in (text + "\n").split(separator: "\n", omittingEmptySubsequences: false) {
      if !line.isEmpty && !line.hasPrefix(" ") {
        paragraph.append(line)
        continue
      }
      if !paragraph.isEmpty { lines.append(wrapped(paragraph.joined(separator: " "))) }
      paragraph = []
      lines.append(String(line))
    }
    while lines.last == "" { lines.removeLast() }
    return lines.joined(separator: "\n")
  }

  /// Words on lines of at most `width` columns, each indented; a longer word stands alone. A no-break
  /// space (U+00A0) holds words together and is shown as a space.
  private func wrapped(_ text: String, indent: Int = 0) -> String {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty && indent + line.count + 1 + word.count > width {
        lines.append(margin + line)
        line = ""
      }
      line += line.isEmpty ? "\(word)" : " \(word)"
    }
    if !line.isEmpty { lines.append(margin + line) }
    return String(lines.joined(separator: "\n").map { $0 == "\u{a0}" ? " " : $0 })
  }
}
