import FoundationEssentials

/// `ListFormat.jsonl`: an object a line; blank lines are skipped.
struct JSONLines: ListParser {
  func parse(_ line: ListLine) -> ListItem? {
    line.item { text throws(ListFault) in
      if PlainLines.trimmed(text).isEmpty { return nil }
      let object: JSONEntry
      do {
        object = try JSONDecoder().decode(JSONEntry.self, from: Data(text.utf8))
      } catch {
        throw ListFault("it is no object in JSON")
      }
      return try object.entry(line: line.number)
    }
  }
}

/// The members of an object, their values as texts.
private struct JSONEntry: Decodable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private enum Value {
    case text(String)
    case texts([String])
    case null
    /// Another array, an object, or a number that is not whole.
    case other
  }

  private let members: [(name: String, value: Value)]

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    members = container.allKeys.map { key in
      let value: Value
      if let text = try? container.decode(String.self, forKey: key) {
        value = .text(text)
      } else if key.stringValue == ListField.url.name {
        // No number is one, whatever it reads like.
        value = (try? container.decodeNil(forKey: key)) == true ? .null : .other
      } else if let number = try? container.decode(Int64.self, forKey: key) {
        value = .text(String(number))
      } else if let flag = try? container.decode(Bool.self, forKey: key) {
        value = .text(flag ? "true" : "false")
      } else if let texts = try? container.decode([String].self, forKey: key) {
        value = .texts(texts)
      } else {
        value = (try? container.decodeNil(forKey: key)) == true ? .null : .other
      }
      return (key.stringValue, value)
    }
  }

  func entry(line: Int) throws(ListFault) -> ListEntry {
    var entry = ListEntry(line: line, url: "")
    for (field, value) in zip(try ListField.named(members.map(\.0)), members.map(\.1)) {
      switch value {
      case .null: break
      case .text(let text): try field.put(text, into: &entry)
      case .texts(let texts): try field.put(texts, into: &entry)
      case .other: throw field.noSuchValue
      }
    }
    if entry.url.isEmpty { throw ListFault("the object has no url") }
    return entry
  }
}
