import Foundation
import TestSupport

/// One of curl's own test cases: the replies of its test server, as its `tests/data/testN` gives them.
///
/// Those of curl 8.14.1 are in `CurlReplies`, under curl's licence; `HAUL_CURL_TESTS` names the folder of another version.
/// Their form is told in curl's docs/tests/FILEFORMAT.md; what the cases in use need of it is here.
struct CurlCase {
  private static let ownFolder = repositoryRoot.appending(
    path: "Tests/HaulTransferTests/CurlCases/CurlReplies"
  ).path
  private static let folder =
    ProcessInfo.processInfo.environment["HAUL_CURL_TESTS"] ?? ownFolder

  /// Whether this version of curl has the case.
  static func isThere(_ number: Int) -> Bool {
    FileManager.default.fileExists(atPath: "\(folder)/test\(number)")
  }

  struct Unreadable: Error { var why: String }

  private let number: Int
  private let lines: [Substring]

  init(_ number: Int) throws {
    self.number = number
    let text = try String(contentsOfFile: "\(Self.folder)/test\(number)", encoding: .utf8)
    // By bytes: CRLF is one character.
    lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { Substring($0) }
  }

  /// The bytes of the reply's section, such as `data` or `data1`, for a server at `host`.
  func reply(_ section: String, host: String) throws -> CurlReply {
    guard let reply = lines.firstIndex(of: "<reply>"),
      let begin = lines[reply...].firstIndex(where: {
        $0 == "<\(section)>" || $0.hasPrefix("<\(section) ")
      }), let end = lines[begin...].firstIndex(of: "</\(section)>")
    else { throw Unreadable(why: "test\(number) has no reply '\(section)'") }
    let content = lines[(begin + 1)..<end].map { $0 + "\n" }.joined()
    var bytes = try expand(content.replacing("%HOSTIP:%HTTPPORT", with: host)[...])
    if lines[begin].contains("nonewline=\"yes\"") { bytes.removeLast() }
    if lines[begin].contains("crlf=") { bytes = Self.withHeadInCRLF(bytes) }
    return CurlReply(bytes: bytes)
  }

  /// Replaces the macros.
  private func expand(_ text: Substring) throws -> [UInt8] {
    var (bytes, rest) = ([UInt8](), text)
    while let percent = rest.firstIndex(of: "%") {
      bytes += rest[..<percent].utf8
      rest = rest[percent...]
      if let content = take("%hex[", "]hex%", of: &rest) {
        bytes += try Self.percentDecoded(content)
      } else if let content = take("%repeat[", "]%", of: &rest) {
        guard let times = content.firstRange(of: " x "),
          let count = Int(content[..<times.lowerBound])
        else { throw Unreadable(why: "test\(number): a malformed %repeat") }
        let piece = try Self.percentDecoded(content[times.upperBound...])
        bytes += repeatElement(piece, count: count).joined()
      } else if rest.hasPrefix("%TESTNUMBER") {
        bytes += String(number).utf8
        rest = rest.dropFirst("%TESTNUMBER".count)
      } else if rest.hasPrefix("%CR") || rest.hasPrefix("%SP") {
        bytes.append(rest.hasPrefix("%CR") ? 13 : 32)
        rest = rest.dropFirst(3)
      } else {
        throw Unreadable(why: "test\(number): an unknown macro: \(rest.prefix(20))")
      }
    }
    return bytes + rest.utf8
  }

  private func take(_ open: String, _ close: String, of rest: inout Substring) -> Substring? {
    guard rest.hasPrefix(open), let end = rest.firstRange(of: close) else { return nil }
    defer { rest = rest[end.upperBound...] }
    return rest[rest.index(rest.startIndex, offsetBy: open.count)..<end.lowerBound]
  }

  private static func percentDecoded(_ text: Substring) throws -> [UInt8] {
    var (bytes, rest) = ([UInt8](), text.utf8)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let decoded = UInt8(Substring(rest.prefix(2)), radix: 16) else {
        throw Unreadable(why: "no hexadecimal number behind %")
      }
      bytes.append(decoded)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  /// Line ends up to and with the first empty line become CRLF.
  private static func withHeadInCRLF(_ bytes: [UInt8]) -> [UInt8] {
    let end = bytes.firstRange(of: [10, 10])?.upperBound ?? bytes.endIndex
    let head = bytes[..<end].filter { $0 != 13 }.flatMap { $0 == 10 ? [13, 10] : [$0] }
    return head + bytes[end...]
  }
}

/// What goes over the connection in answer to one request.
struct CurlReply {
  let bytes: [UInt8]

  /// Whether the server closes behind it: curl's own word for that, or the reply says so itself.
  var closes: Bool {
    let head = head.lowercased()
    return bytes.isEmpty || String(decoding: bytes, as: UTF8.self).contains("swsclose")
      || head.contains("connection: close") || head.hasPrefix("http/1.0")
  }

  /// The file that an honest reading gives: chunks put together, or as many bytes as announced.
  var file: [UInt8] {
    let body = Array(bytes[headEnd...])
    if head.lowercased().contains(/transfer-encoding:.*chunked/) { return Self.joined(body[...]) }
    guard let length = head.firstMatch(of: /Content-Length: (\d+)/)?.1, let count = Int(length)
    else { return body }
    return Array(body.prefix(count))
  }

  /// What a resume is conditional on: the reply's entity tag or date, or one that it does not know.
  var validator: String {
    let field =
      head.firstMatch(of: /ETag: ([^\r\n]+)/) ?? head.firstMatch(of: /Last-Modified: ([^\r\n]+)/)
    return field.map { String($0.1) } ?? "\"v\""
  }

  private var head: String { String(decoding: bytes[..<headEnd], as: UTF8.self) }

  private var headEnd: Int {
    let ends = [[10, 10], [13, 10, 13, 10]].compactMap { bytes.firstRange(of: $0)?.upperBound }
    return ends.min() ?? bytes.endIndex
  }

  /// The contents of well-formed chunks (RFC 9112 §7.1).
  private static func joined(_ body: ArraySlice<UInt8>) -> [UInt8] {
    var (rest, content) = (body, [UInt8]())
    while let end = rest.firstRange(of: [13, 10]),
      let size = Int(
        String(decoding: rest[..<end.lowerBound].prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self),
        radix: 16), size > 0
    {
      content += rest[end.upperBound...].prefix(size)
      rest = rest[end.upperBound...].dropFirst(size + 2)
    }
    return content
  }
}
