/// A key press, as a program receives it from a terminal in raw mode.
package enum Key: Sendable, Equatable {
  /// A printable character or a blank.
  case character(Character)
  /// A key that was pressed together with Ctrl, in lower case.
  case control(Character)
  case enter, escape, tab, backTab, backspace, delete
  case up, down, left, right, pageUp, pageDown, home, end
}

/// Converts the bytes from a terminal to keys. It does not read from the terminal itself.
///
/// The decoder knows the sequences of ECMA-48 (CSI) and of a keypad in application mode (SS3) that xterm, tmux, screen and the
/// Linux console send. It ignores sequences of other keys, and keys with Alt. A sequence may arrive in several pieces.
package struct KeyDecoder: Sendable {
  /// The beginning of a sequence that is not complete yet.
  private var pending: [UInt8] = []

  package init() {}

  /// Returns the keys that are complete after `bytes`.
  package mutating func keys(_ bytes: [UInt8]) -> [Key] {
    pending += bytes
    var keys: [Key] = []
    while let (length, key) = Self.next(pending[...]) {
      pending.removeFirst(length)
      if let key { keys.append(key) }
    }
    return keys
  }

  /// Ends an incomplete sequence. Call this if no more bytes arrive for some time. A single escape byte becomes the Escape key.
  /// Any other incomplete sequence is dropped.
  package mutating func flush() -> [Key] {
    defer { pending = [] }
    return pending == [0x1b] ? [.escape] : []
  }

  /// Returns the length of the first sequence and its key, or a nil key for a sequence to ignore. Returns nil if the sequence
  /// is incomplete.
  private static func next(_ bytes: ArraySlice<UInt8>) -> (length: Int, key: Key?)? {
    guard let first = bytes.first else { return nil }
    switch first {
    case 0x1b: return sequence(bytes)
    case 0x0d, 0x0a: return (1, .enter)
    case 0x09: return (1, .tab)
    case 0x7f, 0x08: return (1, .backspace)
    case 0x01...0x1a: return (1, .control(Character(Unicode.Scalar(first + 0x60))))
    case 0x20..<0x7f: return (1, .character(Character(Unicode.Scalar(first))))
    case 0x80...: return text(bytes)
    default: return (1, nil)
    }
  }

  /// Decodes one UTF-8 scalar (RFC 3629 §3). Skips a byte that cannot begin a scalar. Returns nil if bytes are missing.
  private static func text(_ bytes: ArraySlice<UInt8>) -> (length: Int, key: Key?)? {
    let length = [0xc2...0xdf, 0xe0...0xef, 0xf0...0xf4].firstIndex {
      $0.contains(bytes[bytes.startIndex])
    }
    guard let length = length.map({ $0 + 2 }) else { return (1, nil) }
    if bytes.count < length { return nil }
    guard let text = String(validating: bytes.prefix(length), as: UTF8.self),
      let character = text.first
    else { return (1, nil) }
    return (length, .character(character))
  }

  private static func sequence(_ bytes: ArraySlice<UInt8>) -> (length: Int, key: Key?)? {
    guard let second = bytes.dropFirst().first else { return nil }
    switch second {
    case UInt8(ascii: "O"):
      return bytes.dropFirst(2).first.map { (3, $0 == UInt8(ascii: "M") ? .enter : arrow($0)) }
    case UInt8(ascii: "["):
      let body = bytes.dropFirst(2)
      guard let end = body.firstIndex(where: { (0x40...0x7e).contains($0) }) else { return nil }
      let length = end - bytes.startIndex + 1
      let parameters = String(decoding: body[..<end], as: UTF8.self)
      return (length, bytes[end] == UInt8(ascii: "~") ? numbered(parameters) : arrow(bytes[end]))
    // If two escapes follow each other, the first is the Escape key.
    case 0x1b: return (1, .escape)
    default: return (2, nil)
    }
  }

  private static func arrow(_ final: UInt8) -> Key? {
    switch final {
    case UInt8(ascii: "A"): .up
    case UInt8(ascii: "B"): .down
    case UInt8(ascii: "C"): .right
    case UInt8(ascii: "D"): .left
    case UInt8(ascii: "H"): .home
    case UInt8(ascii: "F"): .end
    case UInt8(ascii: "Z"): .backTab
    default: nil
    }
  }

  /// Returns the key of the form `CSI number ~`, with or without modifier keys; nil if the number is unknown.
  private static func numbered(_ parameters: String) -> Key? {
    switch parameters.prefix(while: { $0 != ";" }) {
    case "1", "7": .home
    case "3": .delete
    case "4", "8": .end
    case "5": .pageUp
    case "6": .pageDown
    default: nil
    }
  }
}
