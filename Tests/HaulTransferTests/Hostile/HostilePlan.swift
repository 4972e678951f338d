import TestSupport

/// One answer of a ``HostileSource``, with all that chance had to decide.
struct HostilePlan: Sendable {
  let deed: HostileDeed
  let version: Source
  /// Whatever the deed needs one for; at least 1.
  let number: Int64
  /// Where the body breaks off, if it does.
  let cut: Int64
  /// Where a redirect leads.
  let otherHost: String
  let strike: @Sendable (HostileSource.Fate) -> Void

  func carryOut(_ request: OriginRequest, _ reply: OriginReply) throws {
    switch deed {
    case .correct, .stale: try version.answer(request, reply)
    case .change:
      try version.answer(request, reply, cut: number % 2 == 0 ? .close(after: cut) : nil)
    case .close: try version.answer(request, reply, cut: .close(after: cut))
    case .reset: try version.answer(request, reply, cut: .reset(after: cut))
    case .stall:
      try version.answer(request, reply, cut: .hold(after: cut) { try $0.waitUntilPeerCloses() })
    case .death, .drain:
      let fate = deed == .death ? HostileSource.Fate.death : .drain
      try version.answer(request, reply, cut: .hold(after: cut) { _ in strike(fate) })
      strike(fate)
    case .early:
      try reply.head("HTTP/1.1 103 Early Hints\nETag: \"\(number)\"\nLink: </other>")
      try version.answer(request, reply)
    case .junk:
      try version.answer(request, reply)
      try reply.body("junk")
    case .encoded:
      var encoded = version
      encoded.contentEncoding = "gzip"
      try encoded.answer(request, reply)
    case .longLength, .twoLengths, .chunked, .brokenChunks, .unsized, .cutUnsized, .foldedChunks,
      .identity:
      try whole(reply)
    case .cookie where request[field: "Cookie"] == nil:
      try reply.head(
        "HTTP/1.1 302 Found\nSet-Cookie: seen=\(number)\nLocation: \(request.path)\nContent-Length: 0"
      )
    case .cookie: try version.answer(request, reply)
    case .redirect:
      try reply.redirect(to: "http://\(otherHost)\(request.path)x")
    case .refusal: try refuse(reply)
    case .silence: reply.close()
    default:
      guard let range = request.range(of: version), deed != .errorText || isMarked else {
        return try version.answer(request, reply)
      }
      // Row 7 takes an answer without the date for one to its condition: that much must be true.
      let date = version.entityTag == nil ? version.lastModified.map(httpDate) : nil
      if deed == .noValidator, let date, request[field: "If-Range"] != date {
        return try version.answer(request, reply)
      }
      try part(range, reply)
    }
  }

  // MARK: - Range or not

  private func whole(_ reply: OriginReply) throws {
    let bytes = version.bytes(in: 0..<version.length)
    let part = deed == .brokenChunks || deed == .cutUnsized ? bytes.prefix(Int(cut)) : bytes[...]
    let fields =
      switch deed {
      case .longLength: "Content-Length: \(version.length + number)"
      case .twoLengths:
        "Content-Length: \(version.length)\nContent-Length: \(version.length + number)"
      case .chunked, .brokenChunks: "Transfer-Encoding: chunked"
      case .foldedChunks: "Transfer-Encoding:\n chunked"
      case .identity: "Transfer-Encoding: identity\nContent-Length: \(version.length)"
      default: "X: y"
      }
    try reply.head("HTTP/1.1 200 OK\n\(marks)\(fields)")
    if [.chunked, .brokenChunks, .foldedChunks].contains(deed) {
      for start in stride(from: 0, to: part.count, by: 16_384) {
        try reply.chunk(Array(part[start..<min(start + 16_384, part.count)]))
      }
      if deed != .brokenChunks { return try reply.chunk([]) }
      if number % 2 == 0 { try reply.body("zz\r\n") }
    } else {
      try reply.body(Array(part))
    }
    reply.close()
  }

  private func refuse(_ reply: OriginReply) throws {
    let answers = [
      "429 Slowly\nRetry-After: 1", "503 Busy\nRetry-After: 1", "503 Busy", "500 No", "404 None",
      "403 No", "410 Gone", "401 Who", "412 No", "304 Same", "416 No", "206 Part", "299 What",
    ]
    try reply.head("HTTP/1.1 \(answers[Int(number) % answers.count])\nContent-Length: 0")
  }

  // MARK: - To a range

  private func part(_ range: Range<Int64>, _ reply: OriginReply) throws {
    let (first, last, total) = (range.lowerBound, range.upperBound - 1, version.length)
    switch deed {
    case .cap: try part(first...(first + number % Int64(range.count)), of: "\(total)", reply)
    case .ignored: try version.whole(reply)
    case .startsEarly: try part(max(0, first - number)...last, of: "\(total)", reply)
    case .startsLate: try part(min(first + number, last)...last, of: "\(total)", reply)
    case .otherTotal: try part(first...last, of: "\(total + number)", reply)
    case .noTotal: try part(first...last, of: "*", reply)
    case .noValidator: try part(first...last, of: "\(total)", marks: "", reply)
    case .unsaid, .multipart:
      let type = deed == .unsaid ? "X: y" : "Content-Type: multipart/byteranges; boundary=x"
      try reply.head(
        "HTTP/1.1 206 Partial Content\n\(marks)\(type)\nContent-Length: \(range.count)")
      try reply.body(version.bytes(in: range))
    case .excess:
      try reply.head(
        "HTTP/1.1 206 Partial Content\n\(marks)Transfer-Encoding: chunked\n"
          + "Content-Range: bytes \(first)-\(last)/\(total)")
      try reply.chunk(version.bytes(in: range) + [1, 2, 3])
      try reply.chunk([])
    case .unsatisfied:
      let told = ["X: y", "Content-Range: bytes */\(total)", "Content-Range: bytes */\(total + 1)"]
      try reply.head("HTTP/1.1 416 No\n\(told[Int(number) % 3])\nContent-Length: 0")
    case .saysWhole:
      try reply.head(
        "HTTP/1.1 200 OK\n\(marks)Content-Length: \(range.count)\n"
          + "Content-Range: bytes \(first)-\(last)/\(total)")
      try reply.body(version.bytes(in: range))
    case .refusesRange:
      let answers = [
        "204 None", "400 Bad", "403 No", "404 None", "405 No", "406 No", "410 Gone", "451 Law",
        "501 What", "502 Bad", "504 Late",
      ]
      try reply.head("HTTP/1.1 \(answers[Int(number) % answers.count])\nContent-Length: 0")
    case .errorText:
      let types = ["application/json", "application/xml", "text/plain", "application/octet-stream"]
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Type: \(types[Int(number) % types.count])\nContent-Length: 5")
      try reply.body("error")
    default:
      try reply.head("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 5")
      try reply.body("login")
    }
  }

  private func part(
    _ range: ClosedRange<Int64>, of total: String, marks: String? = nil, _ reply: OriginReply
  ) throws {
    try reply.head(
      "HTTP/1.1 206 Partial Content\n\(marks ?? self.marks)Content-Length: \(range.count)\n"
        + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound)/\(total)")
    try reply.body(version.bytes(in: Range(range)))
  }

  /// Whether a document without validators differs from the file in that.
  private var isMarked: Bool {
    version.entityTag?.hasPrefix("\"") == true
      || version.entityTag == nil
        && version.lastModified.map { $0 < HostileSource.now - 60 } == true
  }

  /// Date and validators, a line each.
  private var marks: String {
    var lines = "Date: \(httpDate(HostileSource.now))\n"
    if let tag = version.entityTag { lines += "ETag: \(tag)\n" }
    if let date = version.lastModified { lines += "Last-Modified: \(httpDate(date))\n" }
    return lines
  }
}

extension OriginRequest {
  /// The bytes of `version` that are asked for; nil where no range is asked for, or it has none of them.
  fileprivate func range(of version: Source) -> Range<Int64>? {
    let ends = self[field: "Range"]?.dropFirst("bytes=".count).split(separator: "-")
      .compactMap { Int64($0) }
    guard let ends, ends.count == 2, ends[0] < version.length else { return nil }
    return ends[0]..<min(ends[1] + 1, version.length)
  }
}
