/// A request for a file over FTP or SFTP. It also makes the response head that HTTP would have.
///
/// With that head, the decision table treats these files like HTTP ones. The validator is an entity tag made of size and time:
/// a download resumes if both are unchanged. A time within the last minute makes a weak tag, since two changes within a second
/// look the same (RFC 9110 §8.8.2.2). If the size or the time is unknown, there is no tag.
struct FileRequest: Sendable, Equatable {
  /// The server's facts about the file.
  struct Facts: Sendable, Equatable {
    /// The number of bytes from ``FileRequest/offset`` to the end of the file; nil if the server does not state it. A number
    /// above ``FileLength/limit`` is ignored.
    var length: Int64?
    /// The time of the last change, in seconds since 1970; nil if the server does not state it.
    var modified: Int64?
  }

  /// The server's response when it sent no byte of the file.
  enum Refusal: Sendable {
    /// The requested range begins at or after the end of the file, whose length is ``Facts/length``.
    case beyondEnd
    /// The server cannot send only a part of a file.
    case noRanges
  }

  /// The first byte to fetch.
  let offset: Int64
  /// The last byte to fetch; nil for the end of the file.
  let last: Int64?
  private let isRange: Bool
  /// The value of If-None-Match; nil if the request has none.
  private let known: String?

  /// Reads a request from its fields: Range, as ``TransferState`` writes it, and If-None-Match. If-Range is ignored, because
  /// every response has the validator, and Haul compares the validator.
  init(_ fields: [ResponseHead.Field]) {
    let range = fields.first { $0.isNamed("Range") }?.value.split(separator: "=").last
    let bounds = range?.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
    offset = bounds?.first.flatMap(\.self) ?? 0
    last = bounds?.last.flatMap(\.self)
    isRange = range != nil
    known = fields.first { $0.isNamed("If-None-Match") }?.value
  }

  /// Returns the head of a response, when its body begins or when it has ended without a byte.
  ///
  /// - Returns: the head, and the number of wanted body bytes; nil for all bytes.
  func head(_ facts: Facts, now: HTTPDate) -> (HeadParser.Parsed, wanted: Int64?) {
    let total = facts.length.flatMap { $0 <= FileLength.limit ? offset + $0 : nil }
    var fields = validators(total, facts.modified, now: now)
    if let known, known == fields.first(where: { $0.isNamed("ETag") })?.value {
      return (parsed(304, fields, .noBody), nil)
    }
    guard isRange else {
      if let total { fields.append(.init("Content-Length", "\(total)")) }
      return (parsed(200, fields, total.map(BodyFraming.length) ?? .untilClose), nil)
    }
    guard let total, let length = facts.length, length > 0 else {
      return (parsed(416, fields, .noBody), nil)
    }
    let end = min(last ?? .max, total - 1)
    fields.append(.init("Content-Range", "bytes \(offset)-\(end)/\(total)"))
    fields.append(.init("Content-Length", "\(end - offset + 1)"))
    return (
      parsed(206, fields, .length(end - offset + 1)), end < total - 1 ? end - offset + 1 : nil
    )
  }

  /// Returns the head that stands for the server's refusal of the range. Here ``Facts/length`` is the length of the whole file.
  func head(_ refusal: Refusal, _ facts: Facts, now: HTTPDate) -> HeadParser.Parsed {
    var fields = validators(facts.length, facts.modified, now: now)
    switch refusal {
    case .beyondEnd:
      if let length = facts.length { fields.append(.init("Content-Range", "bytes */\(length)")) }
      return parsed(416, fields, .noBody)
    // A 206 without Content-Range does not show which bytes it carries, so Haul requests the whole file (row 1).
    case .noRanges: return parsed(206, fields, .noBody)
    }
  }

  private func validators(
    _ length: Int64?, _ modified: Int64?, now: HTTPDate
  ) -> [ResponseHead.Field] {
    guard let modified else { return [] }
    var fields = [ResponseHead.Field("Last-Modified", HTTPDate(seconds: modified).text)]
    if let length {
      let isOld = modified <= now.seconds - 60
      fields.append(.init("ETag", "\(isOld ? "" : "W/")\"\(length)-\(modified)\""))
    } else {
      // Date is the same as Last-Modified, so that the time alone proves nothing. (RFC 9110 §8.8.2.2)
      fields.append(.init("Date", HTTPDate(seconds: modified).text))
    }
    return fields
  }

  private func parsed(
    _ status: Int, _ fields: [ResponseHead.Field], _ framing: BodyFraming
  ) -> HeadParser.Parsed {
    HeadParser.Parsed(head: ResponseHead(status: status, fields: fields), framing: framing)
  }
}
