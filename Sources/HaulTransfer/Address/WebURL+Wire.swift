/// The form of a URL in a request.
extension WebURL {
  /// The URL to request. In path and query, every byte that RFC 3986 forbids is percent-encoded. Over HTTP, the path's dot
  /// segments are resolved (RFC 3986 §5.2.4). An existing `%` stays.
  ///
  /// ``text`` keeps path and query as submitted, because it identifies the job. The brackets of an IPv6 host are not encoded.
  var wire: String {
    let bytes = text.utf8
    let host = bytes.index(bytes.startIndex, offsetBy: scheme.utf8.count + "://".utf8.count)
    let start = bytes[host...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    let given = text[(start ?? text.endIndex)...]
    if Self.isPlain(given) { return text }
    let rest = given.utf8.contains(where: Self.isForbidden) ? Self.encoded(given)[...] : given
    let end = rest.utf8.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
    let path = isFile ? rest[..<end] : Self.withoutDots(rest[..<end])
    return String(text[..<given.startIndex] + path + rest[end...])
  }

  /// Returns whether a path and its query need no change.
  private static func isPlain(_ given: Substring) -> Bool {
    var isAfterSlash = false
    for byte in given.utf8 {
      if isForbidden(byte) || isAfterSlash && byte == UInt8(ascii: ".") { return false }
      isAfterSlash = byte == UInt8(ascii: "/")
    }
    return true
  }

  private static func isForbidden(_ byte: UInt8) -> Bool {
    switch Unicode.Scalar(byte) {
    case "{", "}", "|", "^", "\"", "<", ">", "\\", "[", "]", "`", " ": true
    default: false
    }
  }

  private static func encoded(_ text: Substring) -> String {
    text.unicodeScalars.reduce(into: "") { encoded, scalar in
      guard scalar.isASCII, isForbidden(UInt8(scalar.value)) else {
        return encoded.unicodeScalars.append(scalar)
      }
      encoded += "%" + String(scalar.value, radix: 16, uppercase: true)
    }
  }

  /// Returns a path without `.` and `..`. If the last segment is `.` or `..`, the result ends in a slash.
  private static func withoutDots(_ path: Substring) -> Substring {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    guard segments.contains(where: { $0 == "." || $0 == ".." }) else { return path }
    var kept: [Substring] = []
    for segment in segments.dropFirst() {
      switch segment {
      case ".": break
      case "..": _ = kept.popLast()
      default: kept.append(segment)
      }
    }
    if segments.last == "." || segments.last == ".." { kept.append("") }
    return "/" + kept.joined(separator: "/")[...]
  }
}
