import HaulSystem

/// What an entry can say, under the names that JSON lines and the header of CSV have for it.
package enum ListField: String, CaseIterable, Sendable {
  case url, path, digest, length, priority
  case ifExists = "if_exists"
  case maxAttempts = "max_attempts"
  case maxBytes = "max_bytes"
  case maxRate = "max_rate"
  case maxHostWait = "max_host_wait"
  case acceptUnverifiedLength = "accept_unverified_length"
  case recordDigest = "record_digest"
  case remoteTime = "remote_time"
  case connectTimeout = "connect_timeout"
  case stallTimeout = "stall_timeout"
  case headers, credential

  /// A field's value as JSON has it.
  enum Value: Equatable {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case texts([String])

    /// As CSV has it: of several texts, none of which holds a tab, each ends at one.
    var text: String {
      switch self {
      case .texts(let texts): texts.joined(separator: "\t")
      case .text(let text): text
      case .number(let number): String(number)
      case .flag(let flag): flag ? "true" : "false"
      }
    }
  }

  private enum Place {
    case text(WritableKeyPath<ListEntry, String?>)
    case whole(WritableKeyPath<ListEntry, Int?>)
    case bytes(WritableKeyPath<ListEntry, Int64?>)
    case flag(WritableKeyPath<ListEntry, Bool?>)
    case texts(WritableKeyPath<ListEntry, [String]?>)
    case url
  }

  private var place: Place {
    switch self {
    case .url: .url
    case .path: .text(\.path)
    case .digest: .text(\.digest)
    case .length: .bytes(\.length)
    case .priority: .whole(\.priority)
    case .ifExists: .text(\.ifExists)
    case .maxAttempts: .whole(\.maxAttempts)
    case .maxBytes: .bytes(\.maxBytes)
    case .maxRate: .bytes(\.maxRate)
    case .maxHostWait: .whole(\.maxHostWait)
    case .acceptUnverifiedLength: .flag(\.acceptUnverifiedLength)
    case .recordDigest: .flag(\.recordDigest)
    case .remoteTime: .flag(\.remoteTime)
    case .connectTimeout: .whole(\.connectTimeout)
    case .stallTimeout: .whole(\.stallTimeout)
    case .headers: .texts(\.headers)
    case .credential: .text(\.credential)
    }
  }

  /// Puts a value that is not empty where it belongs.
  func put(_ text: String, into entry: inout ListEntry) throws(ListFault) {
    switch place {
    case .url: entry.url = text
    case .text(let path): entry[keyPath: path] = text
    case .whole(let path):
      entry[keyPath: path] = Int(try number(text, most: 1_000_000_000))
    case .bytes(let path):
      entry[keyPath: path] = try number(text, most: 9_000_000_000_000_000_000)
    case .flag(let path):
      guard let flag = Bool(text) else {
        throw ListFault("\(rawValue) is '\(SafeText.visible(text))', and neither true nor false")
      }
      entry[keyPath: path] = flag
    case .texts: try put(text.split(separator: "\t").map(String.init), into: &entry)
    }
  }

  /// Puts a value of several texts where it belongs.
  func put(_ texts: [String], into entry: inout ListEntry) throws(ListFault) {
    guard case .texts(let path) = place else {
      throw noSuchValue
    }
    entry[keyPath: path] = texts
  }

  /// What is said of a value that no field, or not this one, can have.
  var noSuchValue: ListFault {
    ListFault("\(rawValue) is no text" + (self == .url ? "" : ", whole number, true or false"))
  }

  /// A number that the database takes for a field of this kind.
  private func number(_ text: String, most: Int64) throws(ListFault) -> Int64 {
    guard let number = Int64(text), number >= 0 else {
      throw ListFault("\(rawValue) is '\(SafeText.visible(text))', and no whole number")
    }
    guard number <= most else {
      throw ListFault("\(rawValue) is \(number), and \(most) is the most")
    }
    return number
  }

  /// What an entry says of it.
  func value(in entry: ListEntry) -> Value? {
    switch place {
    case .url: .text(entry.url)
    case .text(let path): entry[keyPath: path].map { .text($0) }
    case .whole(let path): entry[keyPath: path].map { .number(Int64($0)) }
    case .bytes(let path): entry[keyPath: path].map { .number($0) }
    case .flag(let path): entry[keyPath: path].map { .flag($0) }
    case .texts(let path): entry[keyPath: path].map { .texts($0) }
    }
  }

  /// The fields of these names.
  static func named(_ names: [String]) throws(ListFault) -> [ListField] {
    let fields = names.compactMap(ListField.init)
    if fields.count == names.count { return fields }
    let known = allCases.map(\.rawValue).joined(separator: ", ")
    let unknown = names.filter { ListField(rawValue: $0) == nil }
    let shown = unknown.map { "'\(SafeText.visible($0))'" }
    let meant = unknown.map { foreign[$0.lowercased()] }
    if unknown.count == 1 {
      let question = meant[0].map { ": did you mean '\($0.rawValue)'? There" }
      throw ListFault("\(shown[0]) is no name of a field\(question ?? "; there") are \(known)")
    }
    let list = zip(shown, meant).map { name, field in
      field.map { "\(name) (did you mean '\($0.rawValue)'?)" } ?? name
    }
    throw ListFault(
      "\(list.dropLast().joined(separator: ", ")) and \(list.last ?? "") are no names of fields; there are \(known)"
    )
  }

  /// What other programs' lists call some of them.
  private static let foreign: [String: ListField] = [
    "out": .path, "output": .path, "file": .path, "filename": .path, "name": .path,
    "uri": .url, "link": .url, "checksum": .digest, "hash": .digest, "size": .length,
    "header": .headers,
  ]
}

/// Why a line cannot be read: a clause without its full stop that holds no secret and is safe to print.
struct ListFault: Error, Equatable {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}
