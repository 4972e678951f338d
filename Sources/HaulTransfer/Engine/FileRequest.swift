/// A request for a file by FTP or SFTP, and the head that HTTP would have answered it with.
///
/// With that head, the decision table judges these files like all others. The validator is an entity tag made of size and
/// time: a download resumes if both are unchanged. A time within the last minute makes a weak tag, since two changes
/// within a second look the same (RFC 9110 §8.8.2.2). Without size or time there is no tag.
struct FileRequest: Sendable, Equatable {
  /// What the server says of the file.
  struct Facts: Sendable, Equatable {
    /// Bytes from ``FileRequest/offset`` to the end; nil where the server does not tell, and
    /// no more is believed than ``FileLength/limit``.
    var length: Int64?
    /// When it was last changed, in seconds since 1970; nil where the server does not tell.
    var modified: Int64?
  }

  /// How the server answered where no byte of the file came.
  enum Refusal: Sendable {
    /// The file ends where the range begins, or before, at ``Facts/length``.
    case beyondEnd
    /// The server does not send files from the middle.
    case noRanges
  }

  /// The first byte asked for.
  let offset: Int64
  /// The last byte asked for; nil for the file's last.
  let last: Int64?
  private let isRange: Bool
  /// What If-None-Match holds.
  private let known: String?

  /// What the fields of a request ask for: Range, as ``TransferState`` writes it, and If-None-Match. If-Range is of no account, since
  /// every answer has the validator, which is compared.
  init(_ fields: [ResponseHead.Field]) {
    let range = fields.first { $0.isNamed("Range") }?.value.split(separator: "=").last
    let bounds = range?.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
    offset = bounds?.first.flatMap(\.self) ?? 0
    last = bounds?.last.flatMap(\.self)
    isRange = range != nil
    known = fields.first { $0.isNamed("If-None-Match") }?.value
  }

  /// The head of an answer whose body begins, or is empty.
  ///
  /// - Returns: the head; and how many bytes of the body are wanted, where that is not all of it.
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

  /// The head where the server did not send what was asked for. ``Facts/length`` is the whole file's then.
  func head(_ refusal: Refusal, _ facts: Facts, now: HTTPDate) -> HeadParser.Parsed {
    var fields = validators(facts.length, facts.modified, now: now)
    switch refusal {
    case .beyondEnd:
      if let length = facts.length { fields.append(.init("Content-Range", "bytes */\(length)")) }
      return parsed(416, fields, .noBody)
    // Which bytes these are is not told.
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
      // The same date, so that the time alone proves nothing. (RFC 9110 §8.8.2.2)
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
