/// The users and passwords of a `.netrc` file, which has an entry for each host (curl(1), "--netrc").
///
/// `machine example.org` means the host on the default port of the URL's scheme, and `machine example.org:8443` means the host
/// on that port. For http URLs, Haul uses only entries with a port, because http does not encrypt the password. In a worker
/// pool, everybody who submits a job chooses the host and the scheme, and could otherwise make Haul send a password
/// unencrypted. For URLs that the user of this program typed, see ``isForTypedURLs``.
package struct Netrc: Sendable {
  struct Entry: Sendable, Hashable {
    var machine: String
    var login = ""
    var password = ""
  }

  let entries: [Entry]
  /// The `default` entry, for all other hosts; nil if there is none.
  let fallback: Entry?
  /// Whether the owner of the file typed the URLs of the jobs. If true, Haul also uses the `default` entry and, over http,
  /// entries without a port. Haul uses these entries only for the origins of the jobs' URLs, and never after a redirect.
  package var isForTypedURLs = false

  /// Reads a file that only its owner may read. Blocks.
  package init(path: String) throws(SecretFile.Problem) {
    try self.init(try SecretFile.read(path), name: path)
  }

  init(_ text: String, name: String) throws(SecretFile.Problem) {
    var entries: [Entry] = []
    /// The index of the `default` entry, which has no machine; nil if there is none.
    var fallback: Int?
    var words = Words(text)
    while let word = try words.next(name) {
      switch word {
      case "machine":
        guard let machine = try words.next(name) else { throw Self.lacks(word, name) }
        entries.append(Entry(machine: machine.lowercased()))
      case "default":
        fallback = fallback ?? entries.count
        entries.append(Entry(machine: ""))
      case "macdef": words.skipMacro()
      case "login", "password", "account":
        guard let value = try words.next(name) else { throw Self.lacks(word, name) }
        guard !entries.isEmpty else { continue }
        if word == "login" { entries[entries.count - 1].login = value }
        if word == "password" { entries[entries.count - 1].password = value }
      default:
        throw SecretFile.Problem("\(name) is not a netrc file: it contains an unknown word")
      }
    }
    self.fallback = fallback.map { entries[$0] }
    self.entries = entries.filter { !$0.machine.isEmpty }
  }

  /// Returns the first entry for a machine, which is a host as ``WebURL/hostKey`` spells it. Returns nil if there is none.
  func entry(of machine: String) -> Entry? { entries.first { $0.machine == machine } }

  /// Returns the user and password for `url`, an http or https URL. `isHome` is true if the URL has the same origin as the
  /// job's URL, and no redirect has left that origin. Returns nil if no entry fits.
  func login(for url: WebURL, isHome: Bool) -> Login? {
    let named = entry(of: "\(url.host):\(url.port)")
    let entry =
      if isForTypedURLs && isHome {
        named ?? self.entry(of: url.hostKey) ?? fallback
      } else if url.scheme == "https" {
        named ?? self.entry(of: url.hostKey)
      } else {
        named
      }
    return entry.map { Login(user: $0.login, password: $0.password) }
  }

  /// Returns the reason why the file has no login for `url`, although it has an entry for the host. The reason is a clause
  /// without a full stop. Nil if the file has a login for `url`, or no entry for the host.
  func misfit(for url: WebURL, isHome: Bool) -> String? {
    guard login(for: url, isHome: isHome) == nil,
      let near = entries.first(where: {
        $0.machine == url.host || $0.machine.hasPrefix("\(url.host):")
      })
    else { return nil }
    return
      "the netrc file has 'machine \(near.machine)', but this URL needs 'machine \(url.host):\(url.port)'"
  }

  /// Returns the login for an FTP or SFTP URL; nil if there is none. Haul sends the password only over connections that encrypt
  /// it.
  func login(for url: WebURL) -> Login? {
    entry(of: url.hostKey).map { Login(user: $0.login, password: $0.password) }
  }

  private static func lacks(_ word: String, _ name: String) -> SecretFile.Problem {
    SecretFile.Problem("\(name) is not a netrc file: nothing follows the last '\(word)'")
  }

  /// The words of the file. A word in quotation marks may contain spaces. In such a word, `\` escapes the next character.
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
        throw SecretFile.Problem("\(name) is not a netrc file: a quotation mark is not closed")
      }
      return word
    }

    /// Skips a macro, which ends at an empty line.
    mutating func skipMacro() {
      while let next = rest.popFirst() {
        if next.isNewline, rest.first?.isNewline ?? true { return }
      }
    }
  }
}
