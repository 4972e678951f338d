/// Generates the path of a job's file if its submission gives no path: `host/path/name`.
///
/// | in the URL | in the path |
/// |---|---|
/// | host and port | `example.org`, `example.org_8443` |
/// | `a%20b` | `a b`; a segment that would then hold `/`, NUL, another control character or invalid UTF-8 stays as written |
/// | `.` and `..`, escaped or not | resolved, never above the host (RFC 3986 §5.2.4) |
/// | empty segments | left out |
/// | a path ending in `/` | `index.html` is added |
/// | `?query` | `-` and 16 hex digits of its digest after the name |
/// | a name over 255 bytes | its beginning, `-`, 16 hex digits of its digest, and its extension if that has at most 16 bytes |
///
/// Two URLs can have the same path (`a%62` and `ab`). The queue reports an error if both are submitted.
package enum DefaultPath {
  /// Returns the path for the parts of a URL. The parts come from the URL parser, still percent-encoded.
  ///
  /// `hostKey` is `example.org`, or `example.org:8443` if the port is not the scheme's default. `query` is without `?`.
  /// `digest` returns the SHA-256 of a text's UTF-8 in lower-case hex.
  ///
  /// - Throws: the errors of `SubmissionCheck.path`. Only a path of more than 4000 bytes, or parts that no URL parser returns,
  ///   can cause them.
  package static func path(
    hostKey: String, path: String, query: String?, digest: (String) -> String
  ) throws(SubmissionProblem) -> String {
    var names: [String] = []
    var isDirectory = true
    let slash = UInt8(ascii: "/")
    for segment in path.utf8.split(separator: slash, omittingEmptySubsequences: false) {
      let name = decoded(Substring(segment))
      isDirectory = ["", ".", ".."].contains(name)
      if name == ".." { names = names.dropLast() }
      if !isDirectory { names.append(name) }
    }
    if isDirectory { names.append("index.html") }
    var suffix = ""
    if let query, !query.isEmpty { suffix = "-" + digest(query).prefix(16) }
    let last = names.removeLast()
    let components =
      ([directory(hostKey)] + names).map { shortened($0, room: 255, digest) }
      + [shortened(last, room: 255 - suffix.utf8.count, digest) + suffix]
    let result = components.joined(separator: "/")
    try SubmissionCheck.path(result)
    return result
  }

  /// Returns the last component of the default path, without the query.
  package static func name(
    path: String, digest: (String) -> String
  ) throws(SubmissionProblem) -> String {
    let whole = try Self.path(hostKey: "host", path: path, query: nil, digest: digest)
    let name = String(whole[(whole.lastIndex(of: "/") ?? whole.startIndex)...].dropFirst())
    try SubmissionCheck.path(name)
    return name
  }

  /// Returns the name of the host's directory. The colons of an IPv6 address in brackets stay.
  private static func directory(_ hostKey: String) -> String {
    guard let colon = hostKey.lastIndex(of: ":"), hostKey.last != "]" else { return hostKey }
    return "\(hostKey[..<colon])_\(hostKey[colon...].dropFirst())"
  }

  /// Returns the segment with its escapes decoded, or unchanged if the decoded text cannot be a file's name.
  private static func decoded(_ segment: Substring) -> String {
    if !segment.utf8.contains(UInt8(ascii: "%")) { return String(segment) }
    var bytes: [UInt8] = []
    var rest = Array(segment.utf8)[...]
    while let byte = rest.popFirst() {
      let escape = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      if byte == UInt8(ascii: "%") && escape.count == 2 {
        bytes.append(UInt8(escape[0] << 4 | escape[1]))
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0x2f),
      !SubmissionCheck.hasControlCharacter(text)
    else { return String(segment) }
    return text
  }

  /// Returns `name` shortened to at most `room` bytes of UTF-8.
  private static func shortened(
    _ name: String, room: Int, _ digest: (String) -> String
  ) -> String {
    if name.utf8.count <= room { return name }
    var ending = "-" + digest(name).prefix(16)
    if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 16 { ending += name[dot...] }
    var stem = ""
    for scalar in name.unicodeScalars {
      if stem.utf8.count + scalar.utf8.count + ending.utf8.count > room { break }
      stem.unicodeScalars.append(scalar)
    }
    return stem + ending
  }
}
