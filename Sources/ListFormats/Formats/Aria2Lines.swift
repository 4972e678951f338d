import HaulSystem
internal import HaulTransfer
import JobModel

/// Parses `ListFormat.aria2`: a line of URLs separated by tabs, then indented lines with one option each (aria2 manual, "Input
/// File"). If `isCertain` is false, it also parses plain lines of URLs, which may be indented.
struct Aria2Lines: ListParser {
  let isCertain: Bool
  /// The entry to which the next indented lines belong, or its problem; nil before the first entry.
  private var open: Result<ListEntry, Fault>?
  private var directory: String?
  private var name: String?
  /// The names of ignored options, in the order of their first use.
  private var unknown: [String] = []
  private var hasOptions = false

  private struct Fault: Error {
    let line: Int
    let reason: String
  }

  init(isCertain: Bool) { self.isCertain = isCertain }

  mutating func parse(_ line: ListLine) -> ListItem? {
    let text: String
    do throws(ListFault) {
      text = try line.text.get()
    } catch {
      return begin(.failure(Fault(line: line.number, reason: error.reason)))
    }
    let content = PlainLines.trimmed(text)
    if content.isEmpty || text.hasPrefix("#") { return nil }
    let isIndented = content.startIndex > text.startIndex
    if isIndented, let (key, value) = Self.option(content) {
      hasOptions = true
      take(key, value, line: line.number)
      return nil
    }
    if isIndented, isCertain {
      let reason = "the line is indented, but it is not an option such as out=NAME"
      return begin(.failure(Fault(line: line.number, reason: reason)))
    }
    do throws(ListFault) {
      return begin(.success(try entry(content, line: line.number)))
    } catch {
      return begin(.failure(Fault(line: line.number, reason: error.reason)))
    }
  }

  /// Returns the entry for a line of URLs separated by tabs.
  private mutating func entry(_ content: Substring, line: Int) throws(ListFault) -> ListEntry {
    var urls = content.split(separator: "\t")
    if let comment = urls.firstIndex(where: { $0.hasPrefix("#") }) {
      urls.removeSubrange(comment...)
    }
    if let other = urls.dropFirst().first(where: { !ListURL.beginning($0) }) {
      throw ListFault(
        "the text '\(SafeText.visible(String(other)))' after the tab is not a URL. Use --url-column 1 to read the list as a table"
      )
    }
    var entry = ListEntry(line: line, url: String(try ListURL.alone(in: urls.first ?? content)))
    if urls.count > 1 {
      entry.options.mirrors = try urls.dropFirst().map { url throws(ListFault) in
        String(try ListURL.alone(in: PlainLines.trimmed(String(url))))
      }
    }
    return entry
  }

  mutating func finish() -> ListItem? {
    if open != nil { return completed() }
    if hasOptions, !isCertain {
      hasOptions = false
      return .notice("Haul reads this list as \(ListFormat.aria2.title)")
    }
    if !unknown.isEmpty {
      defer { unknown = [] }
      return .ignored("Haul ignores these options of aria2: \(unknown.joined(separator: ", "))")
    }
    return nil
  }

  /// Splits `name=value` if the name is written like an option of aria2; otherwise returns nil.
  static func option(_ text: Substring) -> (key: Substring, value: Substring)? {
    guard let equals = text.firstIndex(of: "="), equals > text.startIndex else { return nil }
    let key = text[..<equals]
    let isName = key.utf8.allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
    return isName ? (key, text[text.index(after: equals)...]) : nil
  }

  private mutating func begin(_ entry: Result<ListEntry, Fault>) -> ListItem? {
    defer {
      open = entry
      directory = nil
      name = nil
    }
    return completed()
  }

  private mutating func completed() -> ListItem? {
    defer { open = nil }
    switch open {
    case nil: return nil
    case .failure(let fault): return .problem(line: fault.line, fault.reason)
    case .success(var entry):
      if let name {
        entry.path = directory.map { "\($0)/\(name)" } ?? name
      } else {
        entry.directory = directory
      }
      return .entry(entry)
    }
  }

  private mutating func take(_ key: Substring, _ value: Substring, line: Int) {
    guard var entry = try? open?.get() else {
      if open == nil { fail(line, "no URL comes before the option \(key)") }
      return
    }
    switch key {
    case "out": name = String(value)
    case "dir" where value.hasPrefix("/"): leaveOut("dir with an absolute path")
    case "dir": directory = Self.relative(value)
    case "checksum":
      entry.options.digest = String(value)
      open = .success(entry)
    case "header": add(String(value), to: &entry, line: line)
    case "referer": add("Referer: \(value)", to: &entry, line: line)
    case "user-agent": add("User-Agent: \(value)", to: &entry, line: line)
    case let key where Self.holdsSecret(key, value):
      fail(
        line,
        "\(key) contains a secret, which the database would store. Remove the option, and use a credential instead"
      )
    default:
      leaveOut(String(key))
    }
  }

  private mutating func leaveOut(_ option: String) {
    if !unknown.contains(option) { unknown.append(option) }
  }

  private mutating func add(_ header: String, to entry: inout ListEntry, line: Int) {
    do throws(RequestField.Problem) {
      entry.options.headers = (entry.options.headers ?? []) + [try RequestField(header).text]
      open = .success(entry)
    } catch {
      fail(line, "\(error)")
    }
  }

  private mutating func fail(_ line: Int, _ reason: String) {
    open = .failure(Fault(line: line, reason: reason))
  }

  /// Returns a relative directory in short form: `./films/` becomes `films`, and `.` becomes nil.
  private static func relative(_ directory: Substring) -> String? {
    var rest = directory
    while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
    while rest.count > 1, rest.hasSuffix("/") { rest = rest.dropLast() }
    return rest.isEmpty || rest == "." ? nil : String(rest)
  }

  private static func holdsSecret(_ key: Substring, _ value: Substring) -> Bool {
    key.hasSuffix("passwd") || key.hasSuffix("-proxy") && value.contains("@")
      || key == "load-cookies"
  }
}
