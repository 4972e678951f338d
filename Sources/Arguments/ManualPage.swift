/// A manual page in the macros of man(7), generated from the tables of commands and options.
package struct ManualPage: Sendable, Equatable {
  /// The file name by which man(1) finds the page, such as `haul-store-init.1`.
  package let fileName: String
  package let text: String
}

extension CommandTree {
  /// Returns the manual pages: first the program's page, then one for each command that help shows. The footer of each page
  /// shows `date`, such as `2026-11-22`.
  package func manualPages(date: String) -> [ManualPage] {
    pages(of: root, path: [root.name], date)
  }

  private func pages(of node: CommandNode, path: [String], _ date: String) -> [ManualPage] {
    let shown = node.children.filter { !$0.isHidden }
    var writer = RoffWriter()
    let name = path.joined(separator: "-")
    writer.title(name, date: date, source: "\(root.name) \(version)")
    writer.heading("NAME")
    writer.line("\(RoffWriter.escaped(name)) \\- \(RoffWriter.escaped(node.nameLine))")
    writer.synopsis(of: node, path.joined(separator: " "))
    writer.heading("DESCRIPTION")
    writer.prose("\(node.abstract)\n\n\(node.discussion)")
    for section in node.sections {
      writer.heading(section.title)
      for command in section.commands where !command.isHidden {
        writer.item([(path + [command.name]).joined(separator: "-")], command.abstract)
      }
    }
    writer.arguments(of: node)
    writer.heading("EXIT STATUS")
    for (code, meaning) in ExitCode.table { writer.item([code], meaning) }
    writer.examples(node.examples)
    writer.heading("SEE ALSO")
    let near =
      path.count == 1
      ? shown.map { "\(name)-\($0.name)" }
      : [path.dropLast().joined(separator: "-")] + shown.map { "\(name)-\($0.name)" }
    writer.references(near)
    return [ManualPage(fileName: "\(name).1", text: writer.text)]
      + shown.flatMap { pages(of: $0, path: path + [$0.name], date) }
  }
}

extension CommandNode {
  /// The abstract as a line for apropos(1): a phrase without its full stop.
  fileprivate var nameLine: String {
    let phrase = abstract.hasSuffix(".") ? abstract.dropLast() : abstract[...]
    return phrase.prefix(1).lowercased() + phrase.dropFirst()
  }
}

/// Writes roff(7). Text is escaped, so that roff never reads it as a request.
private struct RoffWriter {
  private(set) var text = ""

  mutating func line(_ line: String) { text += line + "\n" }

  /// Writes the title. The date is not escaped, because roff reads it as a date.
  mutating func title(_ name: String, date: String, source: String) {
    line(".TH \(Self.escaped(name.uppercased())) 1 \(date) \"\(Self.escaped(source))\"")
  }

  mutating func heading(_ title: String) { line(".SH \(Self.escaped(title))") }

  /// Escapes text for roff, so that backslashes, quotation marks, ASCII hyphens and no-break spaces appear as written. The
  /// result never begins like a request.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text {
      switch character {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "\"": escaped += "\\(dq"
      case "'": escaped += "\\(aq"
      case "^": escaped += "\\(ha"
      case "~": escaped += "\\(ti"
      case "`": escaped += "\\(ga"
      case "\u{a0}": escaped += "\\ "
      default: escaped.append(character)
      }
    }
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }

  mutating func synopsis(of node: CommandNode, _ path: String) {
    heading("SYNOPSIS")
    let operands = node.parse == nil ? ["<command>"] : node.operands.map(\.usage)
    let rest = (["[<options>]"] + operands).map(Self.escaped).joined(separator: " ")
    line("\\fB\(Self.escaped(path))\\fR \(rest)")
  }

  /// Writes paragraphs, which are separated by blank lines. Lines that start with a space stay as they are.
  mutating func prose(_ prose: String) {
    let lines = prose.split(separator: "\n", omittingEmptySubsequences: false)
    var isVerbatim = false
    var isFirst = true
    for block in lines.split(separator: "", omittingEmptySubsequences: true) {
      if !isFirst { line(".PP") }
      isFirst = false
      for line in block {
        if line.hasPrefix(" ") != isVerbatim {
          isVerbatim.toggle()
          self.line(isVerbatim ? ".nf" : ".fi")
        }
        self.line(Self.escaped(String(line)))
      }
      if isVerbatim { line(".fi") }
      isVerbatim = false
    }
  }

  /// Writes a term with all its spellings, and its meaning.
  mutating func item(_ terms: [String], placeholder: String? = nil, _ meaning: String) {
    line(".TP")
    let bold = terms.map { "\\fB\(Self.escaped($0))\\fR" }.joined(separator: ", ")
    line(bold + (placeholder.map { " \\fI\(Self.escaped($0))\\fR" } ?? ""))
    line(Self.escaped(meaning))
  }

  mutating func arguments(of node: CommandNode) {
    if !node.operands.isEmpty {
      heading("ARGUMENTS")
      for operand in node.operands {
        item(["<\(operand.name)>"], HelpFormatter.describe(operand))
      }
    }
    for title in HelpFormatter.titles(of: node) {
      heading(title ?? "OPTIONS")
      for option in node.options where option.section == title {
        item(
          option.spellings,
          placeholder: option.placeholder ?? (option.isDeniable ? "[=no]" : nil),
          HelpFormatter.describe(option))
      }
    }
  }

  mutating func examples(_ examples: [Example]) {
    if examples.isEmpty { return }
    heading("EXAMPLES")
    for example in examples { item([example.line], example.help) }
  }

  /// Writes references to other pages: `haul\-get(1)`.
  mutating func references(_ names: [String]) {
    for (index, name) in names.enumerated() {
      line(".BR \(Self.escaped(name)) (1)\(index == names.count - 1 ? "" : ",")")
    }
  }
}
