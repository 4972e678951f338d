import FoundationEssentials

/// Splits a JSON document, which arrives in pieces, into the elements of its list. Each element becomes a line. The document is
/// an array, or an object with exactly one array. The splitter holds one element at a time and does not parse it.
struct JSONSplitter: ListSplitter {
  /// The maximum size of an element in bytes.
  private static let longestElement = LineSplitter.longestLine

  /// The complete elements. The index of the next element to return is `first`.
  private var ready: [ListLine] = []
  private var first = 0
  private var number = 1
  /// The number of open brackets.
  private var depth = 0
  private var isInText = false
  private var isEscaped = false
  /// The value of `depth` directly inside the list; nil while no list is open.
  private var listDepth: Int?
  private var lists = 0
  private var element: [UInt8] = []
  /// The line on which the element begins.
  private var elementLine = 1
  private var isBroken = false

  /// Returns whether a list that begins with these bytes is one JSON document, not lines of JSON. Returns nil if more bytes are
  /// needed to decide. If `isWhole`, no more bytes follow.
  static func isDocument(_ bytes: [UInt8], isWhole: Bool, name: String, _ choices: ListColumns)
    -> Bool?
  {
    let isBlank = { (byte: UInt8) in byte <= UInt8(ascii: " ") }
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    if !isWhole, bytes.count < 3, mark.starts(with: bytes) { return nil }
    let text = bytes.dropFirst(bytes.starts(with: mark) ? 3 : 0).drop(while: isBlank)
    guard let first = text.first else { return isWhole ? false : nil }
    if first == UInt8(ascii: "[") { return isArray(text.dropFirst(), isWhole: isWhole) }
    let isNamedLines = ["jsonl", "ndjson"].contains { name.lowercased().hasSuffix(".\($0)") }
    if first != UInt8(ascii: "{") || isNamedLines { return false }
    let line = text.prefix { $0 != UInt8(ascii: "\n") }
    if !isWhole, line.endIndex == text.endIndex {
      return line.count > LineSplitter.longestLine ? true : nil
    }
    let next = text[line.endIndex...].drop(while: isBlank).first
    if let object = try? JSONDecoder().decode(JSONObject.self, from: Data(line)) {
      if !object.isListAlone(choices) { return false }
      return next == nil ? (isWhole ? true : nil) : false
    }
    // The first line is not a whole object. If the next line begins with a brace, the list has one object per line, and the
    // first line is faulty. Otherwise one object spans several lines.
    return next == nil && !isWhole ? nil : next != UInt8(ascii: "{")
  }

  /// Returns whether `text`, which follows a leading bracket, is the rest of an array of objects or strings, or of an empty
  /// array. Links and checkboxes in Markdown begin with a bracket too. Returns nil if more bytes are needed to decide.
  private static func isArray(_ text: ArraySlice<UInt8>, isWhole: Bool) -> Bool? {
    let isBlank = { (byte: UInt8) in byte <= UInt8(ascii: " ") }
    let rest = text.drop(while: isBlank)
    guard let first = rest.first else { return isWhole ? true : nil }
    if first != UInt8(ascii: "]") { return "{\"[".utf8.contains(first) }
    let isEmpty = rest.dropFirst().allSatisfy(isBlank)
    return isEmpty && !isWhole ? nil : isEmpty
  }

  mutating func append(_ bytes: [UInt8]) {
    ready.removeFirst(first)
    first = 0
    for byte in bytes where !isBroken { take(byte) }
  }

  mutating func end() {
    if isBroken { return }
    if depth > 0 {
      fail("the JSON is not complete")
    } else if lists == 0 {
      fail("the JSON contains no list. It must be an array, or an object with one array")
    }
  }

  mutating func next() -> ListLine? {
    guard first < ready.count else { return nil }
    first += 1
    return ready[first - 1]
  }

  private mutating func take(_ byte: UInt8) {
    if byte == UInt8(ascii: "\n") { number += 1 }
    if depth == 0, lists > 0, byte > UInt8(ascii: " ") {
      return fail("the list contains more text after the end of the JSON")
    }
    if isInText {
      keep(byte)
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInText = false
      }
      return
    }
    switch byte {
    case UInt8(ascii: "\""):
      isInText = true
      keep(byte)
    case UInt8(ascii: "["), UInt8(ascii: "{"): open(byte)
    case UInt8(ascii: "]"), UInt8(ascii: "}"): close(byte)
    case UInt8(ascii: ",") where depth == listDepth: emit()
    default: keep(byte)
    }
  }

  private mutating func open(_ byte: UInt8) {
    if listDepth != nil {
      keep(byte)
    } else if byte == UInt8(ascii: "["), depth < 2 {
      lists += 1
      if lists > 1 {
        return fail("the JSON contains more than one list. Use jq to extract one of them")
      }
      listDepth = depth + 1
    }
    depth += 1
  }

  private mutating func close(_ byte: UInt8) {
    if depth == listDepth {
      emit()
      listDepth = nil
    } else {
      keep(byte)
    }
    depth -= 1
    if depth < 0 { fail("the list is not JSON") }
  }

  private mutating func keep(_ byte: UInt8) {
    guard listDepth != nil else { return }
    if element.isEmpty {
      if byte <= UInt8(ascii: " ") { return }
      elementLine = number
    }
    // One byte above the limit shows that the element is too long.
    if element.count <= Self.longestElement { element.append(byte) }
  }

  private mutating func emit() {
    defer { element = [] }
    if element.isEmpty { return }
    if element.count > Self.longestElement {
      ready.append(ListLine(number: elementLine, fault: "the element is longer than 64 KiB"))
    } else if let text = String(validating: element, as: UTF8.self) {
      ready.append(ListLine(number: elementLine, text: text))
    } else {
      ready.append(ListLine(number: elementLine, fault: "the element is not UTF-8"))
    }
  }

  private mutating func fail(_ reason: String) {
    isBroken = true
    ready.append(ListLine(number: number, fault: reason))
  }
}
