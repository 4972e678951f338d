/// Rows 10 to 12, and the ordinary answer to an ordinary request: 200 OK.
func decideWhole(
  _ state: TransferState, asked: RequestKind, head: ResponseHead, now: HTTPDate
) -> TableDecision<Action> {
  let new = Representation(head, now: now)
  if head.bodyLength == .malformed {
    return failure(nil, .protocol, "Content-Length is no number, or several", head)
  }
  if let limit = state.policy.maximumLength, let length = new.completeLength, length > limit {
    return failure(
      nil, .tooLarge, "the file has \(length) bytes and \(limit) are allowed", head)
  }
  if let error = state.policy.refusal(ofLength: new.completeLength) {
    return failure(nil, error.errorClass, error.message, head)
  }
  guard let record = state.checkpoint else {
    // Row 12 for a file that is there.
    if new.mediaType == "text/html", let old = state.present?.mediaType, old != "text/html" {
      return failure(
        12, .suspectPage,
        "the server sent a page in HTML where \(old) used to be; the file is kept", head)
    }
    return TableDecision(nil, .wholeBody(new, resumable: true))
  }
  // Row 12: a log-in page where a file used to be. A file of no known type may be a page, where its validator says so.
  let isSame = record.validator?.compared(with: head) == .same
  if new.mediaType == "text/html", record.mediaType.map({ $0 != "text/html" }) ?? !isSame {
    let old = record.mediaType ?? "a file of no type"
    return failure(
      12, .suspectPage,
      "the server sent a page in HTML where \(old) used to be; the partial file is kept", head)
  }
  guard asked.isRange else { return TableDecision(nil, .wholeBody(new, resumable: true)) }

  // Row 11: not what was recorded, or nothing says that it is. Length equal to the offset or not.
  guard isSame,
    new.contentEncoding == record.contentEncoding,
    (new.completeLength ?? record.completeLength) == record.completeLength,
    state.stated.map(head.contradicts) != true
  else {
    return TableDecision(11, .changedUseBody(new))
  }
  // A probe has told that the source is what was recorded, and nothing is missing.
  if asked == .probe, record.isComplete { return TableDecision(15, .verify) }
  // Row 10: the same, and the range refused. Once without If-Range, then one stream from 0.
  if case .part(_, _, ifRange: true) = asked, !state.attempts.askedPlainRange {
    return TableDecision(10, .oncePlainRange)
  }
  return TableDecision(10, .wholeBody(new, resumable: false))
}

extension Representation {
  /// What the head of a 200 says.
  init(_ head: ResponseHead, now: HTTPDate) {
    if case .bytes(let length) = head.bodyLength { completeLength = length }
    validator = Validator(head, now: now)
    contentEncoding = head.contentEncoding
    mediaType = head.mediaType
    digest = head.statedDigest
    modified = head.modified(now: now)?.seconds
  }
}
