import HaulSystem
package import JobModel

/// A field of an entry. JSON lines and the header of CSV use the name of the field.
package enum ListField: Equatable, Sendable {
  case url, path, priority
  /// A job option. The field has the name of the option.
  case option(JobOption)

  package static let allCases: [ListField] =
    [.url, .path, .priority] + JobOption.allCases.map(ListField.option)

  /// The names of all fields in JSON lines and CSV.
  package static var names: [String] { allCases.map(\.name) }

  private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

  /// The name of the field: `max_attempts`.
  var name: String {
    switch self {
    case .url: "url"
    case .path: "path"
    case .priority: "priority"
    case .option(let option): option.rawValue
    }
  }

  private var kind: JobOption.Kind {
    switch self {
    case .url, .path: .text
    case .priority: .number(most: 1_000_000_000)
    case .option(let option): option.kind
    }
  }

  /// Stores a value in the entry. The value must not be empty.
  func put(_ text: String, into entry: inout ListEntry) throws(ListFault) {
    let value: JobOption.Value
    switch kind {
    case .text: value = .text(text)
    case .number(let most): value = .number(try number(text, most: most))
    case .flag:
      guard let flag = Bool(text) else {
        throw ListFault("\(name) is '\(SafeText.visible(text))', but must be true or false")
      }
      value = .flag(flag)
    case .texts: value = .texts(text.split(separator: "\t").map(String.init))
    }
    put(value, into: &entry)
  }

  /// Stores a list of texts in the entry.
  func put(_ texts: [String], into entry: inout ListEntry) throws(ListFault) {
    guard case .texts = kind else { throw noSuchValue }
    put(.texts(texts), into: &entry)
  }

  private func put(_ value: JobOption.Value, into entry: inout ListEntry) {
    switch (self, value) {
    case (.url, .text(let text)): entry.url = text
    case (.path, .text(let text)): entry.path = text
    case (.priority, .number(let number)): entry.priority = Int(number)
    case (.option(let option), _): entry.options[option] = value
    default: break
    }
  }

  /// The fault for a value that this field cannot have.
  var noSuchValue: ListFault {
    ListFault("\(name) must be text" + (self == .url ? "" : ", a whole number, true or false"))
  }

  /// Parses a number from 0 to `most`, which the database accepts for a field of this kind.
  private func number(_ text: String, most: Int64) throws(ListFault) -> Int64 {
    guard let number = Int64(text), number >= 0 else {
      throw ListFault("\(name) is '\(SafeText.visible(text))', but must be a whole number")
    }
    guard number <= most else {
      throw ListFault("\(name) is \(number), but the maximum is \(most)")
    }
    return number
  }

  /// Returns the field's value in an entry, or nil if it is absent.
  func value(in entry: ListEntry) -> JobOption.Value? {
    switch self {
    case .url: .text(entry.url)
    case .path: entry.path.map { .text($0) }
    case .priority: entry.priority.map { .number(Int64($0)) }
    case .option(let option): entry.options[option]
    }
  }

  /// Returns the field with exactly this name; nil if there is none.
  static func named(_ name: String) -> ListField? { byName[name] }

  /// Returns the field that a misspelt name in lower case may mean; nil if none is similar. `name` must not be the name of a
  /// field.
  static func meant(by name: String) -> ListField? {
    if let field = foreign[name] { return field }
    // Short names resemble many words with other meanings.
    guard name.utf8.count > 4 else { return nil }
    let near = Suggestion.nearest(to: name, among: names + ["checksum"])
    return near.flatMap { byName[$0] ?? foreign[$0] }
  }

  /// The fields for names that other programs use.
  private static let foreign: [String: ListField] = [
    "out": .path, "output": .path, "file": .path, "filename": .path, "name": .path,
    "uri": .url, "link": .url, "checksum": .option(.digest), "hash": .option(.digest),
    "size": .option(.length), "header": .option(.headers),
  ]
}

extension JobOption.Value {
  /// The value as CSV writes it. Tabs separate several texts.
  var written: String {
    switch self {
    case .texts(let texts): texts.joined(separator: "\t")
    case .text(let text): text
    case .number(let number): String(number)
    case .flag(let flag): flag ? "true" : "false"
    }
  }
}

/// The reason why a line cannot be read: a clause without its full stop. It contains no secret and is safe to print.
struct ListFault: Error, Equatable {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}
