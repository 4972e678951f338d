/// The way in which a body ends (RFC 9112 §6.3, RFC 9113 §8.1).
enum BodyFraming: Sendable, Equatable {
  /// The response has no body: 204, 304, or any response to HEAD.
  case noBody
  /// The body ends after the number of bytes in Content-Length.
  case length(Int64)
  case chunked
  /// The body ends with HTTP/2 END_STREAM, and the response has no Content-Length.
  case stream
  /// The response does not state where the body ends. The body ends when the server closes the connection.
  case untilClose
}

/// Builds the final head from the header lines that libcurl passes on, and refuses heads that cannot be trusted.
///
/// libcurl 7.88 uses the last of several Content-Length fields, ignores a malformed one, and applies the Content-Length of a
/// 1xx response to the final response. This parser refuses a response if one of these rules could give a wrong length. libcurl
/// also frames the body by raw lines: it ignores folded fields and names with a space before the colon. ``FramingByLine`` finds
/// out how libcurl frames the body, so that the engine can find the end where libcurl does not.
struct HeadParser {
  /// The final head, and how its body ends.
  struct Parsed: Equatable {
    var head: ResponseHead
    var framing: BodyFraming
    /// Whether libcurl frames the body differently. It then passes on the raw bytes until the connection closes, and
    /// the engine must find the end.
    var isRaw = false
  }

  private enum State {
    /// The parser expects a status line. The next state is `fields`.
    case statusLine
    /// The parser is in the fields. The next state is `statusLine` after a 1xx response, and otherwise `done`.
    case fields(status: Int, isHTTP2: Bool)
    /// The parser has read the final head. The parser ignores later lines, which are trailers.
    case done
  }

  /// The maximum size of all heads together in bytes, including 1xx responses.
  static let byteLimit = 256 * 1024
  /// The maximum number of fields in all heads together.
  static let fieldLimit = 1000

  private let isSecure: Bool
  private let isForHead: Bool
  private let engineReadsLength: Bool
  private var state = State.statusLine
  private var fields: [ResponseHead.Field] = []
  private var byteCount = 0
  private var fieldCount = 0
  private var byLine = FramingByLine()
  /// Whether a 1xx response had a Content-Length, which libcurl applies to a final response without one.
  private var hasEarlyLength = false

  /// Creates a parser for one response.
  ///
  /// - Parameters:
  ///   - isSecure: Whether the connection uses TLS. Without TLS, a status line that claims HTTP/2 is wrong.
  ///   - isForHead: Whether the method was HEAD. The response then has no body, whatever its head says. (RFC 9110
  ///     §9.3.2)
  ///   - engineReadsLength: Whether Haul's engine reads Content-Length and libcurl ignores it. (libcurl:
  ///     CURLOPT_IGNORE_CONTENT_LENGTH)
  init(isSecure: Bool, isForHead: Bool = false, engineReadsLength: Bool = false) {
    self.isSecure = isSecure
    self.isForHead = isForHead
    self.engineReadsLength = engineReadsLength
  }

  /// Takes the next line as bytes, with or without its line ending.
  ///
  /// - Returns: The final head if this line ended it; otherwise nil.
  /// - Throws: `.protocol` if the head is invalid or too large. A line that is not a field is not an error: the parser skips
  ///   it.
  mutating func take(_ line: Span<UInt8>) throws(TransferError) -> Parsed? {
    byteCount += line.count
    guard byteCount <= Self.byteLimit else {
      throw TransferError(.protocol, "the headers of the response are larger than 256 KiB")
    }
    let text = line.trimmingEnd(0..<line.count)
    switch state {
    case .statusLine:
      state = try statusLine(line.text(text))
      return nil
    case .fields(let status, let isHTTP2):
      if !text.isEmpty {
        byLine.take(line, text)
        try field(line, text)
        return nil
      }
      return try end(status: status, isHTTP2: isHTTP2)
    case .done:
      return nil
    }
  }

  private func statusLine(_ text: String) throws(TransferError) -> State {
    var scanner = TextScanner(text)
    let version = scanner.takeWhile { $0 != UInt8(ascii: " ") }.uppercased()
    scanner.skipWhile { $0 == UInt8(ascii: " ") }
    guard version == "HTTP/1.1" || version == "HTTP/1.0" || version == "HTTP/2",
      let status = scanner.digits(3), (100...599).contains(status),
      scanner.atEnd || scanner.take(" ")
    else { throw TransferError(.protocol, "the response has no valid status line") }
    let isHTTP2 = version == "HTTP/2"
    guard isSecure || !isHTTP2 else {
      throw TransferError(
        .protocol, "the response claims to be HTTP/2, but came without TLS", status: status)
    }
    guard status != 101 else {
      throw TransferError(
        .protocol, "the server switched protocols, but Haul did not request this", status: status)
    }
    return .fields(status: status, isHTTP2: isHTTP2)
  }

  /// Takes a line with a field. `text` is the range of the line without its line ending.
  private mutating func field(
    _ line: borrowing Span<UInt8>, _ text: Range<Int>
  ) throws(TransferError) {
    fieldCount += 1
    guard fieldCount <= Self.fieldLimit else {
      throw TransferError(.protocol, "the response has more than 1,000 headers")
    }
    if line[text.lowerBound].isBlank {
      // obs-fold (RFC 9112 §5.2): the line continues the last value. Join both with one space.
      guard let last = fields.indices.last else { return }
      let more = line.text(line.trimming(text))
      fields[last].value = String("\(fields[last].value) \(more)".trimmed())
      return
    }
    guard let colon = line.firstIndex(in: text, where: { $0 == UInt8(ascii: ":") }) else { return }
    // A space before the colon is not allowed (RFC 9112 §5.1), but some servers send it.
    let name = line.trimmingEnd(text.lowerBound..<colon)
    guard !name.isEmpty, line.firstIndex(in: name, where: { !$0.isTokenCharacter }) == nil else {
      return
    }
    let value = line.trimming(colon + 1..<text.upperBound)
    fields.append(.init(line.text(name), line.text(value)))
  }

  private mutating func end(status: Int, isHTTP2: Bool) throws(TransferError) -> Parsed? {
    var head = ResponseHead(status: status, fields: fields)
    fields = []
    guard status >= 200 else {
      guard head.values("Transfer-Encoding").isEmpty else {
        throw TransferError(.protocol, "a 1xx response announces a body", status: status)
      }
      if !head.values("Content-Length").isEmpty { hasEarlyLength = true }
      state = .statusLine
      byLine = FramingByLine()
      return nil
    }
    state = .done
    let stated = try Self.settleFraming(of: &head, isHTTP2: isHTTP2)
    let framing = isForHead ? .noBody : stated
    guard !hasEarlyLength || framing != .untilClose && framing != .stream else {
      throw TransferError(.protocol, "a 1xx response announces a body", status: status)
    }
    return Parsed(
      head: head, framing: framing,
      isRaw: !isHTTP2 && !byLine.agrees(with: framing, engineReadsLength: engineReadsLength))
  }

  /// Finds the framing. Also removes repeated Content-Length fields from the head, and a Content-Length that Transfer-Encoding
  /// overrides.
  private static func settleFraming(
    of head: inout ResponseHead, isHTTP2: Bool
  ) throws(TransferError) -> BodyFraming {
    let length = try contentLength(head)
    // `identity` (RFC 2616 §3.6) and `none` are not codings. They do not override Content-Length or a coding before them.
    let codings = head.values("Transfer-Encoding").flatMap { $0.split(separator: ",") }
      .map { $0.trimmed().lowercased() }.filter { !$0.isEmpty && $0 != "identity" && $0 != "none" }
    // Haul sends no TE field, so no other coding is allowed (RFC 9110 §10.1.4), and libcurl would not decode it.
    guard head.status >= 300 || codings.allSatisfy({ $0 == "chunked" }) else {
      throw TransferError(
        .protocol, "the response has a Transfer-Encoding that Haul did not request",
        status: head.status)
    }
    let lengthCounts = codings.isEmpty || isHTTP2
    if let first = head.fields.firstIndex(where: { $0.isNamed("content-length") }),
      !lengthCounts || head.fields[first].value != String(length ?? 0)
        || head.fields.dropFirst(first + 1).contains(where: { $0.isNamed("content-length") })
    {
      head.fields[first].value = String(length ?? 0)
      let kept = lengthCounts ? head.fields[first] : nil
      head.fields.removeAll { $0.isNamed("content-length") }
      if let kept { head.fields.insert(kept, at: first) }
    }
    if head.status == 204 || head.status == 304 { return .noBody }
    if !lengthCounts {
      return codings.last == "chunked" ? .chunked : .untilClose
    }
    if let length { return .length(length) }
    return isHTTP2 ? .stream : .untilClose
  }

  /// Returns the Content-Length; nil if there is none. Repeated equal values count as one (RFC 9110 §8.6). A plus sign
  /// before the number is ignored, and so is a comma or a semicolon after it.
  private static func contentLength(_ head: ResponseHead) throws(TransferError) -> Int64? {
    let fields = head.values("Content-Length")
    guard let first = fields.first else { return nil }
    if fields.count == 1, first.utf8.allSatisfy(\.isDigit), let length = Int64(first),
      length <= FileLength.limit
    {
      return length
    }
    let values = fields.flatMap { field in
      let members = field.split(separator: ",").filter { !$0.trimmed().isEmpty }
      return members.isEmpty ? [""] : members
    }
    var lengths: Set<Int64> = []
    for value in values {
      var digits = value.trimmed()
      if digits.first == "+" { digits.removeFirst() }
      if digits.last == ";" { digits.removeLast() }
      guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else {
        throw TransferError(
          .protocol, "the response's Content-Length is not a number", status: head.status)
      }
      guard let length = Int64(digits), length <= FileLength.limit else {
        throw TransferError(
          .protocol, "the response's Content-Length is more than 1 PiB", status: head.status)
      }
      lengths.insert(length)
    }
    guard lengths.count == 1 else {
      throw TransferError(
        .protocol, "the response has several Content-Length headers that differ",
        status: head.status)
    }
    return lengths.first
  }
}

/// Finds the framing that libcurl 7.88 uses, line by line. libcurl looks for `Name:` at the start of each line and ignores
/// folded lines.
private struct FramingByLine {
  private var hasCoding = false
  private var isChunked = false
  private var length: Int64?

  /// Takes a line. `text` is the range of the line without its line ending; it begins at 0.
  mutating func take(_ line: borrowing Span<UInt8>, _ text: Range<Int>) {
    if let codings = value(line, text, of: "transfer-encoding:") {
      hasCoding = true
      isChunked =
        isChunked
        || codings.lowercased().split(separator: ",").contains { $0.trimmed() == "chunked" }
    } else if let digits = value(line, text, of: "content-length:") {
      length = Int64(digits.trimmed())
    }
  }

  /// Returns the rest of a line that starts with `name`, which is in lower case; nil for another line.
  private func value(
    _ line: borrowing Span<UInt8>, _ text: Range<Int>, of name: String
  ) -> String? {
    let start = name.utf8.span
    guard text.count >= start.count else { return nil }
    for index in 0..<start.count where line[index].inLowerCase != start[index] { return nil }
    return line.text(start.count..<text.upperBound)
  }

  /// Returns whether libcurl finds the same end of the body as `framing`. After any Transfer-Encoding, libcurl ignores the
  /// length.
  func agrees(with framing: BodyFraming, engineReadsLength: Bool) -> Bool {
    switch framing {
    case .noBody, .stream, .untilClose: true
    case .chunked: isChunked
    case .length(let expected): !engineReadsLength && !hasCoding && length == expected
    }
  }
}

extension StringProtocol {
  /// Returns the text without spaces and tabs at both ends, and without line endings at its end.
  fileprivate func trimmed() -> Substring {
    let bytes = Substring(self).utf8
    let last = bytes.lastIndex { !$0.isBlank && !$0.isLineEnding }
    let kept = last.map { bytes[...$0] } ?? bytes[..<bytes.startIndex]
    return Substring(kept.drop(while: \.isBlank))
  }
}

extension Span<UInt8> {
  /// Returns the part of `range` without spaces, tabs and line endings at its end.
  fileprivate func trimmingEnd(_ range: Range<Int>) -> Range<Int> {
    var end = range.upperBound
    while end > range.lowerBound, self[end - 1].isBlank || self[end - 1].isLineEnding { end -= 1 }
    return range.lowerBound..<end
  }

  /// Returns the part of `range` without spaces and tabs at both ends, and without line endings at its end.
  fileprivate func trimming(_ range: Range<Int>) -> Range<Int> {
    let range = trimmingEnd(range)
    let start = firstIndex(in: range) { !$0.isBlank }
    return (start ?? range.upperBound)..<range.upperBound
  }

  /// Returns the index of the first byte in `range` that satisfies `condition`; nil if there is none.
  fileprivate func firstIndex(in range: Range<Int>, where condition: (UInt8) -> Bool) -> Int? {
    for index in range where condition(self[index]) { return index }
    return nil
  }

  /// Returns the text of `range`, as ``HeaderText/text(_:)`` does.
  fileprivate func text(_ range: Range<Int>) -> String {
    unsafe extracting(range).withUnsafeBytes { unsafe HeaderText.text($0) }
  }
}

extension UInt8 {
  /// Whether the byte is a line feed or a carriage return.
  fileprivate var isLineEnding: Bool { self == 0x0d || self == 0x0a }
}
