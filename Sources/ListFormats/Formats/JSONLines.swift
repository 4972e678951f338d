import FoundationEssentials
import HaulSystem

/// Parses `ListFormat.jsonl`: one object per line, or the elements of an array that ``JSONSplitter`` has split. An element is
/// an object or a string with a URL. Blank lines are skipped.
struct JSONLines: ListParser {
  private let choices: ListColumns
  /// The names of ignored members, in the order of their first use.
  private var leftOut: [String] = []

  init(_ choices: ListColumns = ListColumns()) { self.choices = choices }

  mutating func parse(_ line: ListLine) -> ListItem? {
    do throws(ListFault) {
      let text = try line.text.get()
      if PlainLines.trimmed(text).isEmpty { return nil }
      if let url = try? JSONDecoder().decode(String.self, from: Data(text.utf8)) {
        return .entry(ListEntry(line: line.number, url: url))
      }
      guard let object = try? JSONDecoder().decode(JSONObject.self, from: Data(text.utf8)) else {
        throw ListFault("the entry is not a JSON object")
      }
      return .entry(try entry(object, line: line.number))
    } catch {
      return .problem(line: line.number, error.reason)
    }
  }

  private mutating func entry(_ object: JSONObject, line: Int) throws(ListFault) -> ListEntry {
    var entry = ListEntry(line: line, url: "")
    for (name, value) in object.members {
      guard let member = try member(called: name) else {
        if leftOut.count < 13, !leftOut.contains(name) { leftOut.append(name) }
        continue
      }
      switch value {
      case .null: break
      case .text(let text): try member.put(text, into: &entry)
      case .texts(let texts): try member.field.put(texts, into: &entry)
      case .list, .other: throw member.field.noSuchValue
      }
    }
    if entry.url.isEmpty { throw ListFault("the object has no url") }
    return entry
  }

  /// Returns the field to read from the member `name`, or nil for an ignored member.
  private func member(called name: String) throws(ListFault) -> ListMember? {
    if choices.isEmpty { return try ListMember.certain(name) }
    for (column, field) in choices.chosen {
      guard case .named(let chosen) = column else {
        throw ListFault("members of JSON objects have names, not numbers such as \(column)")
      }
      if chosen.lowercased() == name.lowercased() { return ListMember(field, called: name) }
    }
    let known = ListMember.known(name)
    return choices.chosen.contains { $0.field == known?.field } ? nil : known
  }

  mutating func finish() -> ListItem? {
    if leftOut.isEmpty { return nil }
    defer { leftOut = [] }
    let shown = leftOut.prefix(12).map { SafeText.visible($0) }.joined(separator: ", ")
    return .ignored(
      "Haul ignores these members: \(shown)\(leftOut.count > 12 ? " and others" : "")")
  }
}

/// The members of a JSON object, with their values as texts.
struct JSONObject: Decodable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  enum Value {
    case text(String)
    case texts([String])
    case null
    /// The member is an array, and not all its elements are strings.
    case list
    /// The member is an object, or a number with a fraction.
    case other
  }

  let members: [(name: String, value: Value)]

  /// Returns whether the object has no URL and exactly one array, which may be a list of entries.
  func isListAlone(_ choices: ListColumns) -> Bool {
    let lists = members.count {
      switch $0.value {
      case .texts, .list: true
      case .text, .null, .other: false
      }
    }
    let url = choices.url?.description ?? ListField.url.name
    return lists == 1 && !members.contains { $0.name.lowercased() == url.lowercased() }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    members = container.allKeys.map { key in
      let value: Value
      if let text = try? container.decode(String.self, forKey: key) {
        value = .text(text)
      } else if key.stringValue == ListField.url.name {
        // A URL must be a string, so other values are not converted to text here.
        value = (try? container.decodeNil(forKey: key)) == true ? .null : .other
      } else if let number = try? container.decode(Int64.self, forKey: key) {
        value = .text(String(number))
      } else if let flag = try? container.decode(Bool.self, forKey: key) {
        value = .text(flag ? "true" : "false")
      } else if let texts = try? container.decode([String].self, forKey: key) {
        value = .texts(texts)
      } else if (try? container.nestedUnkeyedContainer(forKey: key)) != nil {
        value = .list
      } else {
        value = (try? container.decodeNil(forKey: key)) == true ? .null : .other
      }
      return (key.stringValue, value)
    }
  }
}
