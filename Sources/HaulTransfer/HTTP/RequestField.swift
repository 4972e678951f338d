/// A request header that a job adds to Haul's own headers.
///
/// Haul sends the header only to the origin of the job's URL. The header must not contain a secret, because the database stores
/// and shows it.
package struct RequestField: Sendable, Hashable {
  package let name: String
  package let value: String

  /// The reason why a text is not a valid header. The description is a clause without a full stop and omits the header's value.
  package enum Problem: Error, Sendable, Hashable {
    case malformed
    case controlCharacter(String)
    case tooLong(String)
    /// The header would change the requested content, or the framing of the response.
    case reserved(String)
    /// The header carries credentials.
    case secret(String)
    case twice(String)
    case tooMany
  }

  /// The maximum length of a value in bytes.
  static let longest = 4096
  /// The maximum number of headers of one job.
  static let most = 32

  /// Reads a header `Name: value` (RFC 9110 §5.1, §5.5). Removes spaces before and after the value.
  package init(_ text: String) throws(Problem) {
    let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, !halves[0].isEmpty, halves[0].utf8.allSatisfy(Self.isTokenByte) else {
      throw .malformed
    }
    name = String(halves[0])
    var value = halves[1]
    while value.first == " " { value.removeFirst() }
    while value.last == " " { value.removeLast() }
    self.value = String(value)
    let isControl = { (scalar: Unicode.Scalar) in
      scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
    }
    if value.unicodeScalars.contains(where: isControl) { throw .controlCharacter(name) }
    if value.utf8.count > Self.longest || name.utf8.count > 255 { throw .tooLong(name) }
    let lower = name.lowercased()
    if Self.isSecret(lower) { throw .secret(name) }
    if Self.reserved.contains(lower) || lower.hasPrefix("if-") { throw .reserved(name) }
  }

  /// Reads the headers of one job. No two headers may have the same name.
  package static func all(_ texts: [String]) throws(Problem) -> [RequestField] {
    if texts.count > most { throw .tooMany }
    var fields: [RequestField] = []
    for text in texts {
      let field = try RequestField(text)
      if fields.contains(where: { $0.name.lowercased() == field.name.lowercased() }) {
        throw .twice(field.name)
      }
      fields.append(field)
    }
    return fields
  }

  /// The header as `Name: value`.
  package var text: String { "\(name): \(value)" }

  var field: ResponseHead.Field { ResponseHead.Field(name, value) }

  /// Returns whether a token may contain the byte (RFC 9110 §5.6.2).
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  /// The reserved names in lower case. Names that begin with `if-` are reserved, too.
  private static let reserved: Set<String> = [
    "host", "range", "accept-encoding", "content-length", "content-encoding", "transfer-encoding",
    "te", "trailer", "connection", "proxy-connection", "keep-alive", "upgrade", "http2-settings",
    "expect", "want-content-digest", "want-repr-digest", "x-http-method", "x-http-method-override",
    "x-method-override", "x-original-url", "x-rewrite-url",
  ]

  /// Returns whether a header with this name, in lower case, is known to carry credentials.
  package static func isSecret(_ name: String) -> Bool {
    name.hasPrefix("x-auth") || secretParts.contains { name.contains($0) }
  }

  private static let secretParts = [
    "authorization", "cookie", "token", "secret", "password", "passwd", "api-key", "apikey",
    "api_key", "access-key", "auth-key", "credential", "signature", "jwt", "session", "passphrase",
  ]
}

extension RequestField.Problem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .malformed: "a header must have the form 'Name: value'"
    case .controlCharacter(let name): "the header \(name) contains a control character"
    case .tooLong(let name): "the header \(name) is longer than \(RequestField.longest) bytes"
    case .reserved(let name): "the header \(name) cannot be set: Haul sets this header itself"
    case .secret(let name):
      "the header \(name) contains a secret, which the database would store: use a credential instead"
    case .twice(let name): "the header \(name) is given twice"
    case .tooMany: "there are more than \(RequestField.most) headers"
    }
  }
}
