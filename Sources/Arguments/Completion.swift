/// The possible completions of a command line that the user is typing.
package struct Completion: Sendable, Equatable {
  /// A possible word with its meaning.
  package struct Word: Sendable, Equatable {
    package var text: String
    package var help: String

    package init(_ text: String, _ help: String = "") {
      self.text = text
      self.help = help
    }
  }

  /// The words that can complete the line.
  package var words: [Word] = []
  /// Where the caller looks up further possible values; nil if there are no further values.
  package var source: ValueSource?
  /// The part of the last word that values from `source` must begin with.
  package var prefix = ""
  /// The part of the last word before `prefix`, such as `--store=`.
  package var lead = ""
  /// The last value of each option on the line so far. The key is the option's long name.
  package var given: [String: String] = [:]
}

extension CommandTree {
  /// Returns the completions of the last word of `words`. That word may be empty. `words` are the words after the program's
  /// name.
  package func complete(_ words: [String]) -> Completion {
    guard let last = words.last else { return Completion() }
    var node = root
    var rest = words.dropLast()
    if rest.first == "help" { rest.removeFirst() }
    while node.parse == nil, let word = rest.popFirst() {
      guard let child = node.children.first(where: { $0.name == word }) else { return Completion() }
      node = child
    }
    var line = TypedLine(node)
    for word in rest { line.read(word) }
    return line.complete(last)
  }
}

/// The arguments typed so far, after the command's name.
private struct TypedLine {
  private let node: CommandNode
  private var given: [String: String] = [:]
  /// The option whose value is the next word; nil if the next word is not the value of an option.
  private var pending: OptionSpec?
  private var operands = 0
  private var optionsEnded = false

  init(_ node: CommandNode) { self.node = node }

  /// Reads a finished word as `ArgumentLexer` and `CommandParser` do. Ignores unknown options.
  mutating func read(_ word: String) {
    if let option = pending {
      given[option.long] = word
      pending = nil
    } else if optionsEnded || word == "-" || !word.hasPrefix("-") {
      operands += 1
    } else if word == "--" {
      optionsEnded = true
    } else if word.hasPrefix("--") {
      let halves = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let option = node.options.first { "--\($0.long)" == halves[0] }
      if halves.count == 2 {
        option.map { given[$0.long] = String(halves[1]) }
      } else {
        expect(option)
      }
    } else {
      let letters = word.dropFirst()
      let index = letters.firstIndex { letter in
        node.options.contains { $0.shorts.contains(letter) && $0.placeholder != nil }
      }
      guard let index else { return }
      let option = node.options.first { $0.shorts.contains(letters[index]) }
      let value = letters[letters.index(after: index)...]
      if value.isEmpty { expect(option) } else { option.map { given[$0.long] = String(value) } }
    }
  }

  private mutating func expect(_ option: OptionSpec?) {
    if option?.placeholder != nil { pending = option }
  }

  func complete(_ word: String) -> Completion {
    if let option = pending { return values(option.candidates, option.source, word) }
    if !optionsEnded, word.hasPrefix("-") { return options(word) }
    if node.parse == nil {
      let commands = node.children.filter { !$0.isHidden && $0.name.hasPrefix(word) }
      return Completion(words: commands.map { .init($0.name, $0.abstract) })
    }
    let place = min(operands, node.operands.count - 1)
    guard place >= 0, operands == place || node.operands[place].repeats else { return Completion() }
    return values(node.operands[place].candidates, node.operands[place].source, word)
  }

  private func options(_ word: String) -> Completion {
    guard let equals = word.firstIndex(of: "=") else {
      let names = node.options.map { Completion.Word("--\($0.long)", $0.help) }
      return Completion(words: names.filter { $0.text.hasPrefix(word) })
    }
    let lead = String(word[...equals])
    guard let option = node.options.first(where: { "--\($0.long)=" == lead }) else {
      return Completion()
    }
    let value = String(word[word.index(after: equals)...])
    return values(option.candidates, option.source, value, lead: lead)
  }

  private func values(
    _ candidates: [String], _ source: ValueSource?, _ word: String, lead: String = ""
  ) -> Completion {
    let words = candidates.filter { $0.hasPrefix(word) }.map { Completion.Word(lead + $0) }
    var completion = Completion(
      words: words, source: source, prefix: word, lead: lead, given: given)
    if case .mounts = source, let equals = word.firstIndex(of: "=") {
      completion.source = .directories
      completion.lead += word[...equals]
      completion.prefix = String(word[word.index(after: equals)...])
    }
    return completion
  }
}
