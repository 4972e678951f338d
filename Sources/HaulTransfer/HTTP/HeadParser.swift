/// Where a body ends (RFC 9112 §6.3, RFC 9113 §8.1).
enum BodyFraming: Sendable, Equatable {
  /// 204, 304 and the response to HEAD have no body.
  case noBody
  /// Bytes by Content-Length.
  case length(Int64)
  case chunked
  /// HTTP/2 END_STREAM without a Content-Length.
  case stream
  /// Nothing tells; the peer's close ends it.
  case untilClose
}

/// Gathers the header lines that libcurl hands over into the final head, and refuses what may not be believed.
///
/// libcurl 7.88 takes the last of several Content-Length fields, ignores a malformed one, and lets
/// those of a 1xx response stand for the final one. Here each of these is a broken response. It also frames the body by
/// lines as they came: folded fields and names with a space before the colon mean nothing to it. ``FramingByLine`` follows
/// what it does, so that the engine can finish what libcurl leaves undone.
struct HeadParser {
  /// A final head and what it says about its body.
  struct Parsed: Equatable {
    var head: ResponseHead
    var framing: BodyFraming
    /// Whether libcurl frames the body in another way: then it hands over the raw bytes until the connection closes, and
    /// the engine must find the end.
    var isRaw = false
  }

  private enum State {
    /// Before a status line; next: `fields`.
    case statusLine
    /// Next: `statusLine` after a 1xx answer, else `done`.
    case fields(status: Int, isHTTP2: Bool)
    /// Later lines are trailers and are not looked at.
    case done
  }

  /// The most bytes of all heads together, 1xx answers included.
  static let byteLimit = 256 * 1024
  /// The most fields of all heads together.
  static let fieldLimit = 1000

  private let isSecure: Bool
  private let isForHead: Bool
  private let isMeasured: Bool
  private var state = State.statusLine
  private var fields: [ResponseHead.Field] = []
  private var byteCount = 0
  private var fieldCount = 0
  private var byLine = FramingByLine()
  /// A 1xx response had a Content-Length, which libcurl takes for the final one's where that has none.
  private var hasEarlyLength = false

  /// - Parameters:
  ///   - isSecure: HTTP/2 is spoken over TLS only; elsewhere a status line that claims it lies.
  ///   - isForHead: the method was HEAD, so what the head says of a body is true of none. (RFC 9110 §9.3.2)
  ///   - isMeasured: libcurl reads no length.
  init(isSecure: Bool, isForHead: Bool = false, isMeasured: Bool = false) {
    self.isSecure = isSecure
    self.isForHead = isForHead
    self.isMeasured = isMeasured
  }

  /// Takes the next line; its line end may be there or not.
  ///
  /// - Returns: the head when this line ended the final one.
  /// - Throws: `.protocol`. Lines that are no field are skipped, not an error.
  mutating func take(_ line: some StringProtocol) throws(TransferError) -> Parsed? {
    byteCount += line.utf8.count
    guard byteCount <= Self.byteLimit else {
      throw TransferError(.protocol, "the answer's head is larger than 256 KiB")
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
    guard words.count >= 2, ["HTTP/1.0", "HTTP/1.1", "HTTP/2"].contains(words[0].uppercased()),
      words[1].utf8.count == 3, let status = Int(words[1]), (100...599).contains(status)
    else { throw TransferError(.protocol, "the answer has no usable status line") }
    let isHTTP2 = words[0].uppercased() == "HTTP/2"
    guard isSecure || !isHTTP2 else {
      throw TransferError(.protocol, "the answer claims HTTP/2 without TLS", status: status)
    }
    guard status != 101 else {
      throw TransferError(.protocol, "the server switched protocols unasked", status: status)
    }
    return .fields(status: status, isHTTP2: isHTTP2)
  }

  private mutating func field(_ text: Substring) throws(TransferError) {
    fieldCount += 1
    guard fieldCount <= Self.fieldLimit else {
      throw TransferError(.protocol, "the answer's head has more than 1,000 fields")
    }
    if text.utf8.first?.isBlank == true {
      // obs-fold (RFC 9112 §5.2): a continued value, joined by one space.
      guard let last = fields.indices.last else { return }
      fields[last].value = String("\(fields[last].value) \(text.trimmed())".trimmed())
      return
    }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
    // Space before the colon must not be sent (RFC 9112 §5.1), and some servers send it.
    let name = text[..<colon].trimmingEnd()
    guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else { return }
    fields.append(.init(String(name), String(text[text.utf8.index(after: colon)...].trimmed())))
  }

  private mutating func end(status: Int, isHTTP2: Bool) throws(TransferError) -> Parsed? {
    var head = ResponseHead(status: status, fields: fields)
    fields = []
    guard status >= 200 else {
      guard head.values("Transfer-Encoding").isEmpty else {
        throw TransferError(.protocol, "a 1xx answer announces a body", status: status)
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
      throw TransferError(.protocol, "a 1xx answer announces a body", status: status)
    }
    return Parsed(
      head: head, framing: framing,
      isRaw: !isHTTP2 && !byLine.agrees(with: framing, isMeasured: isMeasured))
  }

  /// Also leaves at most one Content-Length in the head, and none that Transfer-Encoding overrides.
  private static func settleFraming(
    of head: inout ResponseHead, isHTTP2: Bool
  ) throws(TransferError) -> BodyFraming {
    let length = try contentLength(head)
    // `identity` is none (RFC 2616 §3.6), nor is `none`: it overrides no Content-Length, and nothing that comes before it.
    let codings = head.values("Transfer-Encoding").flatMap { $0.split(separator: ",") }
      .map { $0.trimmed().lowercased() }.filter { !$0.isEmpty && $0 != "identity" && $0 != "none" }
    // We send no TE, so nothing else may be applied (RFC 9110 §10.1.4), and libcurl would leave it on.
    guard head.status >= 300 || codings.allSatisfy({ $0 == "chunked" }) else {
      throw TransferError(
        .protocol, "the answer has a transfer coding that was not requested", status: head.status)
    }
    let lengthCounts = codings.isEmpty || isHTTP2
    if let first = head.fields.firstIndex(where: { $0.isNamed("content-length") }) {
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

  /// Repeated equal values are one (RFC 9110 §8.6). A plus sign before the number is ignored, and so is a comma or a
  /// semicolon behind it.
  private static func contentLength(_ head: ResponseHead) throws(TransferError) -> Int64? {
    let fields = head.values("Content-Length")
    guard !fields.isEmpty else { return nil }
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
          .protocol, "the answer's Content-Length is not a number", status: head.status)
      }
      guard let length = Int64(digits), length <= FileLength.limit else {
        throw TransferError(
          .protocol, "the answer's Content-Length is more than 1 PiB", status: head.status)
      }
      lengths.insert(length)
    }
    guard lengths.count == 1 else {
      throw TransferError(
        .protocol, "the answer has Content-Length fields that differ", status: head.status)
    }
    return lengths.first
  }
}

/// How libcurl 7.88 frames a body, line by line: it looks at the start of each line for `Name:`, without folds.
private struct FramingByLine {
  private var hasCoding = false
  private var isChunked = false
  private var length: Int64?

  mutating func take(_ line: Substring) {
    // Most fields are others.
    guard let initial = line.utf8.first?.inLowerCase,
      initial == UInt8(ascii: "t") || initial == UInt8(ascii: "c")
    else { return }
    let lower = line.lowercased()
    if lower.hasPrefix("transfer-encoding:") {
      hasCoding = true
      let codings = lower.dropFirst("transfer-encoding:".count).split(separator: ",")
      isChunked = isChunked || codings.contains { $0.trimmed() == "chunked" }
    } else if lower.hasPrefix("content-length:") {
      length = Int64(lower.dropFirst("content-length:".count).trimmed())
    }
  }

  /// Whether libcurl ends the body where `framing` says. Any Transfer-Encoding makes it ignore the length.
  func agrees(with framing: BodyFraming, isMeasured: Bool) -> Bool {
    switch framing {
    case .noBody, .stream, .untilClose: true
    case .chunked: isChunked
    case .length(let expected): !isMeasured && !hasCoding && length == expected
    }
  }
}

extension StringProtocol {
  /// Without spaces, tabs and line ends behind.
  fileprivate func trimmingEnd() -> Substring {
    let bytes = Substring(self).utf8
    let last = bytes.lastIndex { !$0.isBlank && $0 != 0x0d && $0 != 0x0a }
    return Substring(last.map { bytes[...$0] } ?? bytes[..<bytes.startIndex])
  }

  /// Without spaces, tabs and line ends around.
  fileprivate func trimmed() -> Substring {
    Substring(trimmingEnd().utf8.drop(while: \.isBlank))
  }
}
