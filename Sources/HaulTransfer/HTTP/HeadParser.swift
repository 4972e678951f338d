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

  /// Takes the next line, with or without its line ending.
  ///
  /// - Returns: The final head if this line ended it; otherwise nil.
  /// - Throws: `.protocol` if the head is invalid or too large. A line that is not a field is not an error: the parser skips
  ///   it.
  mutating func take(_ line: some StringProtocol) throws(TransferError) -> Parsed? {
    byteCount += line.utf8.count
    guard byteCount <= Self.byteLimit else {
      throw TransferError(.protocol, "the headers of the response are larger than 256 KiB")
    }
    let text = line.trimmingEnd()
    switch state {
    case .statusLine:
      state = try statusLine(text)
      return nil
    case .fields(let status, let isHTTP2):
      if !text.isEmpty {
        byLine.take(text)
        try field(text)
        return nil
      }
      return try end(status: status, isHTTP2: isHTTP2)
    case .done:
      return nil
    }
  }

  private func statusLine(_ text: Substring) throws(TransferError) -> State {
    let words = text.utf8.split(
      separator: UInt8(ascii: " "), maxSplits: 2
    ).map { Substring($0) }
    let version = words.first?.uppercased()
    guard words.count >= 2, version == "HTTP/1.1" || version == "HTTP/1.0" || version == "HTTP/2",
      words[1].utf8.count == 3, let status = Int(words[1]), (100...599).contains(status)
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

  private mutating func field(_ text: Substring) throws(TransferError) {
    fieldCount += 1
    guard fieldCount <= Self.fieldLimit else {
      throw TransferError(.protocol, "the response has more than 1,000 headers")
    }
    if text.utf8.first?.isBlank == true {
      // obs-fold (RFC 9112 §5.2): the line continues the last value. Join both with one space.
      guard let last = fields.indices.last else { return }
      fields[last].value = String("\(fields[last].value) \(text.trimmed())".trimmed())
      return
    }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
    // A space before the colon is not allowed (RFC 9112 §5.1), but some servers send it.
    let name = text[..<colon].trimmingEnd()
    guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else { return }
    fields.append(.init(String(name), String(text[text.utf8.index(after: colon)...].trimmed())))
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

  mutating func take(_ line: Substring) {
    if let codings = value(line, of: "transfer-encoding:") {
      hasCoding = true
      isChunked =
        isChunked
        || codings.lowercased().split(separator: ",").contains { $0.trimmed() == "chunked" }
    } else if let digits = value(line, of: "content-length:") {
      length = Int64(digits.trimmed())
    }
  }

  /// Returns the rest of a line that starts with `name`, which is in lower case; nil for another line.
  private func value(_ line: Substring, of name: String) -> Substring? {
    guard line.utf8.first?.inLowerCase == name.utf8.first else { return nil }
    let start = line.utf8.prefix(name.utf8.count)
    guard start.elementsEqual(name.utf8, by: { $0.inLowerCase == $1 }) else { return nil }
    return line[start.endIndex...]
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
  /// Returns the text without spaces, tabs and line endings at its end.
  fileprivate func trimmingEnd() -> Substring {
    let bytes = Substring(self).utf8
    let last = bytes.lastIndex { !$0.isBlank && $0 != 0x0d && $0 != 0x0a }
    return Substring(last.map { bytes[...$0] } ?? bytes[..<bytes.startIndex])
  }

  /// Returns the text without spaces and tabs at both ends, and without line endings at its end.
  fileprivate func trimmed() -> Substring {
    Substring(trimmingEnd().utf8.drop(while: \.isBlank))
  }
}
