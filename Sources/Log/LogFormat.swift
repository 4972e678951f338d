import HaulSystem

/// Writes a log line as text or as JSON. In both formats, characters that could fake a line or control a terminal are escaped
/// as in a JSON string.
extension Logger.Format {
  func begin(
    _ line: inout [UInt8], _ time: WallTime, _ level: Logger.Level, _ event: LogEvent,
    _ component: String
  ) {
    switch self {
    case .text:
      time.appendTime(to: &line)
      line.append(" ")
      line.append(level.rawValue)
      for _ in level.rawValue.utf8.count..<max(5, level.rawValue.utf8.count) { line.append(" ") }
      line.append(" ")
      line.append(event.rawValue)
      line.append(" ")
    case .json:
      line.append(#"{"time":""#)
      time.appendDateTime(to: &line)
      line.append(#"","level":""#)
      line.append(level.rawValue)
      line.append(#"","event":""#)
      line.append(event.rawValue)
      line.append(#"","component":"#)
      SafeText.appendJSONString(component, to: &line)
    }
  }

  func append(_ field: LogField, _ value: LogValue, to line: inout [UInt8]) {
    switch self {
    case .text:
      line.append(" ")
      line.append(field.rawValue)
      line.append("=")
    case .json:
      line.append(",\"")
      line.append(field.rawValue)
      line.append("\":")
    }
    switch value {
    case .int(let number): line.append(String(number))
    case .double(let number) where number.isFinite: line.append(String(number))
    case .double(let number): append(text: String(number), to: &line)
    case .bool(let flag): line.append(flag ? "true" : "false")
    case .string(let text): append(text: text, to: &line)
    }
  }

  func end(_ line: inout [UInt8]) {
    line.append(self == .json ? "}\n" : "\n")
  }

  /// Appends text. A text line shows printable ASCII without quotation marks if it has no space, quotation mark or backslash.
  private func append(text: String, to line: inout [UInt8]) {
    let isBare =
      self == .text && text.utf8.allSatisfy { SafeText.isPlain($0) && $0 != UInt8(ascii: " ") }
    if isBare { line.append(text) } else { SafeText.appendJSONString(text, to: &line) }
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ text: String) { append(contentsOf: text.utf8) }
}
