/// The URL as a request has it.
extension WebURL {
  /// What is fetched: in path and query every byte that RFC 3986 forbids is percent-encoded, and over HTTP the dot segments
  /// of the path are resolved (RFC 3986 §5.2.4). An existing `%` stays.
  ///
  /// ``text`` keeps them as submitted, since jobs are told apart by it. The brackets of an IPv6 host are no part of this.
  var wire: String {
    let separator = text.firstRange(of: "://")?.upperBound ?? text.startIndex
    let start = text[separator...].firstIndex { "/?".contains($0) } ?? text.endIndex
    let rest = Self.encoded(text[start...])
    let end = rest.firstIndex(of: "?") ?? rest.endIndex
    let path = isFile ? String(rest[..<end]) : Self.withoutDots(rest[..<end])
    return text[..<start] + path + rest[end...]
  }

  private static let forbidden = Set("{}|^\"<>\\[]` ".utf8)

  private static func encoded(_ text: Substring) -> String {
    guard text.utf8.contains(where: forbidden.contains) else { return String(text) }
    return text.unicodeScalars.reduce(into: "") { encoded, scalar in
      guard scalar.isASCII, forbidden.contains(UInt8(scalar.value)) else {
        return encoded.unicodeScalars.append(scalar)
      }
      encoded += "%" + String(scalar.value, radix: 16, uppercase: true)
    }
  }

  /// A path without `.` and `..`; one that ends in either ends in a slash.
  private static func withoutDots(_ path: Substring) -> String {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    guard segments.contains(where: { $0 == "." || $0 == ".." }) else { return String(path) }
    var kept: [Substring] = []
    for segment in segments.dropFirst() {
      switch segment {
      case ".": break
      case "..": _ = kept.popLast()
      default: kept.append(segment)
      }
    }
    if segments.last == "." || segments.last == ".." { kept.append("") }
    return "/" + kept.joined(separator: "/")
  }
}
