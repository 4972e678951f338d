/// Formats help like swift-argument-parser: two columns, the second from column 26.
struct HelpFormatter {
  /// The width of the help in columns.
  private let width: Int
  private static let column = 26
  /// The largest number of values that the help of an option lists.
  private static let mostValues = 12

  /// Creates a formatter. The width is the environment variable COLUMNS, at least 40, or 80 columns if it is not set.
  init(environment: [String: String]) {
    width = max(environment["COLUMNS"].flatMap { Int($0) } ?? 80, 40)
  }

  /// Returns the whole help of `node`, which the user typed as `path`.
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

  /// Returns the headings of a command's options. The command's own options come first and have no heading.
  static func titles(of node: CommandNode) -> [String?] {
    var titles: [String?] = [nil]
    for option in node.options where !titles.contains(option.section) {
      titles.append(option.section)
    }
    return titles
  }

  /// Returns an operand's meaning and its possible values.
  static func describe(_ operand: OperandSpec) -> String {
    operand.help + notes(values: operand.candidates, default: "")
  }

  /// Returns an option's meaning, possible values, default and environment variable.
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
      // A label that is too long gets its own line.
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

  /// Returns the text with each paragraph wrapped. A line that starts with a space stays as it is.
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

  /// Wraps words to indented lines of at most `width` columns. A longer word gets its own line. A no-break space (U+00A0) joins
  /// words and is shown as a space.
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
