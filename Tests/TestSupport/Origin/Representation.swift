import Glibc

/// A representation (RFC 9110 §3.2) as a correct server holds it, and its correct answers.
///
/// For everything incorrect write the head with ``OriginReply/head(_:)``; the fields and bytes of this
/// type are open to such answers too.
package struct Representation: Sendable {
  package var pattern: Pattern
  /// Stretches with other content than `pattern`, later ones over earlier: the file after a change.
  package var edits: [(range: Range<Int64>, pattern: Pattern)] = []
  package var length: Int64
  /// With its quotes, and `W/` before them if it is weak.
  package var entityTag: String?
  /// Seconds since 1970.
  package var lastModified: Int64?
  package var contentType = "application/octet-stream"
  package var contentEncoding: String?
  package var acceptsRanges = true
  /// Before the byte at that offset is sent, its gate must be open: so tests stop a transfer where they want it.
  package var gates: [Int64: Gate] = [:]

  /// With a strong entity tag made of seed and length.
  package init(seed: UInt64, length: Int64) {
    pattern = Pattern(seed: seed)
    self.length = length
    entityTag = "\"\(seed)-\(length)\""
  }

  /// The content at the offsets of `range`.
  package func bytes(in range: Range<Int64>) -> [UInt8] {
    var bytes = pattern.bytes(in: range)
    for edit in edits where edit.range.overlaps(range) {
      let stretch = edit.range.clamped(to: range)
      bytes.replaceSubrange(
        Int(stretch.lowerBound - range.lowerBound)..<Int(stretch.upperBound - range.lowerBound),
        with: edit.pattern.bytes(in: stretch))
    }
    return bytes
  }

  /// How the connection ends before the answer is complete.
  package enum Cut: Sendable {
    case close(after: Int64)
    case reset(after: Int64)
    /// Calls that on the connection's thread, and closes when it returns.
    case hold(after: Int64, @Sendable (OriginReply) throws -> Void)

    var bytes: Int64 {
      switch self {
      case .close(let bytes), .reset(let bytes), .hold(let bytes, _): bytes
      }
    }
  }

  /// Answers as RFC 9110 says: 200, 206, 304 or 416. Several ranges in one request get the whole.
  ///
  /// A `cut` ends the connection after that many bytes of the body.
  package func answer(_ request: OriginRequest, _ reply: OriginReply, cut: Cut? = nil) throws {
    if isUnchanged(for: request) {
      return try reply.head("HTTP/1.1 304 Not Modified\n" + validators)
    }
    switch selected(by: request) {
    case nil:
      try reply.head(
        "HTTP/1.1 416 Range Not Satisfiable\nContent-Range: bytes */\(length)\nContent-Length: 0")
    case .some(let range)
    where range == 0..<length && request[field: "Range"] == nil || !honours(request):
      try reply.head("HTTP/1.1 200 OK\n" + fields(of: range))
      if request.method != "HEAD" { try send(range, reply, cut: cut) }
    case .some(let range):
      let contentRange =
        "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)\n"
      try reply.head("HTTP/1.1 206 Partial Content\n" + contentRange + fields(of: range))
      try send(range, reply, cut: cut)
    }
  }

  /// Date, validators, type, encoding and length of an answer that carries these bytes; a line each.
  package func fields(of range: Range<Int64>) -> String {
    var lines = validators
    if acceptsRanges { lines += "Accept-Ranges: bytes\n" }
    if let contentEncoding { lines += "Content-Encoding: \(contentEncoding)\n" }
    return lines + "Content-Type: \(contentType)\nContent-Length: \(range.count)\n"
  }

  /// Sends the bytes of that range, stopping at gates, and ends the connection where `cut` says.
  package func send(_ range: Range<Int64>, _ reply: OriginReply, cut: Cut? = nil) throws {
    let end = min(range.upperBound, cut.map { range.lowerBound + $0.bytes } ?? .max)
    let stops = gates.keys.filter { $0 > range.lowerBound && $0 < end }
    var offset = range.lowerBound
    while offset < end {
      if let gate = gates[offset] { try reply.wait(for: gate) }
      let next = stops.filter { $0 > offset }.min() ?? end
      let stop = min(next, offset + 65_536)
      try reply.body(bytes(in: offset..<stop))
      offset = stop
    }
    switch cut {
    case .close where end < range.upperBound: reply.close()
    case .reset where end < range.upperBound: try reply.reset()
    case .hold(_, let body) where end < range.upperBound:
      try body(reply)
      reply.close()
    default: break
    }
  }

  private var validators: String {
    var lines = "Date: \(httpDate(Int64(time(nil))))\n"
    if let entityTag { lines += "ETag: \(entityTag)\n" }
    if let lastModified { lines += "Last-Modified: \(httpDate(lastModified))\n" }
    return lines
  }

  /// RFC 9110 §13.2.2: If-None-Match counts before If-Modified-Since.
  private func isUnchanged(for request: OriginRequest) -> Bool {
    if let tags = request[field: "If-None-Match"] {
      let opaque = entityTag.map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 }
      return tags == "*" || opaque.map { tags.contains($0) } ?? false
    }
    guard let since = request[field: "If-Modified-Since"], let lastModified else { return false }
    return since == httpDate(lastModified)
  }

  /// Whether a Range counts at all (RFC 9110 §14.2), If-Range included (§13.1.5).
  private func honours(_ request: OriginRequest) -> Bool {
    guard acceptsRanges, request.method == "GET", let range = request[field: "Range"],
      range.hasPrefix("bytes="), !range.contains(",")
    else { return false }
    guard let condition = request[field: "If-Range"] else { return true }
    if condition.hasPrefix("W/") { return false }
    return condition == entityTag || condition == lastModified.map(httpDate)
  }

  /// The offsets to send; nil if the request's range has none of them.
  private func selected(by request: OriginRequest) -> Range<Int64>? {
    guard honours(request), let range = request[field: "Range"] else { return 0..<length }
    let ends = range.dropFirst("bytes=".count).split(
      separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Int64(ends[0]), Int64(ends[1])) {
    case (let first?, let last) where first < length:
      return first..<max(first, min(length, last.map { $0 + 1 } ?? length))
    case (nil, let count?) where count > 0 && length > 0:
      return max(0, length - count)..<length
    default:
      return nil
    }
  }
}

/// IMF-fixdate (RFC 9110 §5.6.7) of seconds since 1970.
package func httpDate(_ seconds: Int64) -> String {
  var moment = time_t(seconds)
  var parts = tm()
  gmtime_r(&moment, &parts)
  var text = [CChar](repeating: 0, count: 64)
  strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
  return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? ""
}
