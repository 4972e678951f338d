/// Users and passwords by host, as `.netrc` has them (curl(1), "--netrc").
///
/// Stricter than elsewhere, since anybody who submits a job names its host: `machine example.org` is the host on its scheme's
/// own port, `machine example.org:8443` the one on that port, and a `default` entry is left out.
package struct Netrc: Sendable {
  struct Entry: Sendable, Hashable {
    var machine: String
    var login = ""
    var password = ""
  }

  let entries: [Entry]

  /// Reads a file that only its owner may read. Blocks.
  package init(path: String) throws(SecretFile.Problem) {
    try self.init(try SecretFile.read(path), name: path)
  }

  init(_ text: String, name: String) throws(SecretFile.Problem) {
    var entries: [Entry] = []
    /// Whether what follows belongs to the last entry; not after `default`.
    var isOpen = false
    var words = Words(text)
    while let word = try words.next(name) {
      switch word {
      case "machine":
        guard let machine = try words.next(name) else { throw Self.lacks(word, name) }
        entries.append(Entry(machine: machine.lowercased()))
        isOpen = true
      case "default": isOpen = false
      case "macdef": words.skipMacro()
      case "login", "password", "account":
        guard let value = try words.next(name) else { throw Self.lacks(word, name) }
        guard isOpen else { continue }
        if word == "login" { entries[entries.count - 1].login = value }
        if word == "password" { entries[entries.count - 1].password = value }
      default:
        throw SecretFile.Problem("\(name) is no netrc file: it has a word that is none of its own")
      }
    }
    self.entries = entries
  }

  /// The first entry of a machine, by its host as ``WebURL/hostKey`` spells it.
  func entry(of machine: String) -> Entry? { entries.first { $0.machine == machine } }

  /// What goes along to `url`: Basic, as RFC 7617 has it. `isHome`: the URL is of the origin that the job names. Over http only
  /// there, and to a port that the entry names: whoever submits jobs writes the scheme.
  func authorization(for url: WebURL, isHome: Bool) -> ResponseHead.Field? {
    guard url.scheme == "https" || isHome && url.port != 80, let entry = entry(of: url.hostKey)
    else { return nil }
    return .basic(user: entry.login, password: entry.password)
  }

  /// The login for FTP and SFTP URLs whose password is not sent in the clear.
  func login(for url: WebURL) -> Login? {
    entry(of: url.hostKey).map { Login(user: $0.login, password: $0.password) }
  }

  private static func lacks(_ word: String, _ name: String) -> SecretFile.Problem {
    SecretFile.Problem("\(name) is no netrc file: nothing follows the last '\(word)'")
  }

  /// The words of the file; one in quotation marks may hold spaces, and `\` keeps the next character.
  private struct Words {
    private var rest: Substring

    init(_ text: String) { rest = text[...] }

    mutating func next(_ name: String) throws(SecretFile.Problem) -> String? {
      while true {
        rest = rest.drop { $0.isWhitespace }
        guard rest.first == "#" else { break }
        rest = rest.drop { !$0.isNewline }
      }
      guard let first = rest.first else { return nil }
      let isQuoted = first == "\""
      if isQuoted { rest.removeFirst() }
      var word = ""
      while let next = rest.popFirst() {
        if isQuoted ? next == "\"" : next.isWhitespace { return word }
        if isQuoted, next == "\\", let kept = rest.popFirst() {
          word.append(kept)
        } else {
          word.append(next)
        }
      }
      if isQuoted {
        throw SecretFile.Problem("\(name) is no netrc file: a quotation mark is not closed")
      }
      return word
    }

    /// A macro ends at an empty line.
    mutating func skipMacro() {
      while let next = rest.popFirst() {
        if next.isNewline, rest.first?.isNewline ?? true { return }
      }
    }
  }
}
