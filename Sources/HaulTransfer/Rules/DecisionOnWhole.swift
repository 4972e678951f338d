/// Rows 10 to 12 and 26, and the ordinary answer to an ordinary request: 200 OK.
func decideWhole(
  _ state: TransferState, asked: RequestKind, head: ResponseHead, now: HTTPDate
) -> TableDecision<Action> {
  let new = Representation(head, now: now)
  // Row 26: it says that it carries a part, and is judged as what it says.
  if let first = head.partClaim(for: state) {
    if asked.isRange { return decidePart(state, asked: asked, head: head) }
    return failure(
      26, .protocol, "the server sent a part of the file, from byte \(first), instead of the whole",
      head)
  }
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
  if let expected = state.policy.expectedType, !expected.allows(new.mediaType) {
    let error = TransferError(
      .suspectPage,
      "the server sent \(new.mediaType ?? "no media type") and not \(expected) as demanded",
      status: head.status)
    return TableDecision(12, .suspect(SuspectPage(new, now: now), error))
  }
  if let ruling = decideSuspect(state, asked: asked, new, head, now: now) { return ruling }
  guard let record = state.checkpoint else {
    return TableDecision(nil, .wholeBody(new, resumable: true))
  }
  let isSame = record.validator?.compared(with: head) == .same
  guard asked.isRange else { return TableDecision(nil, .wholeBody(new, resumable: true)) }
  // Nothing but the digest is there to compare with.
  if record.validator == .jobDigest { return TableDecision(10, .wholeBody(new, resumable: false)) }

  // Row 11: the same validator and another length contradict each other. It may be the rest, sent as if it were the whole.
  if isSame, let length = new.completeLength, length != record.completeLength,
    !record.isFromElsewhere
  {
    let isFinal = state.attempts.contradictions + 1 >= Attempts.maximumContradictions
    return TableDecision(11, isFinal ? .startOver : .askAgain)
  }
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

/// Row 12: what looks like an error page replaces neither a part nor a finished file.
private func decideSuspect(
  _ state: TransferState, asked: RequestKind, _ new: Representation, _ head: ResponseHead,
  now: HTTPDate
) -> TableDecision<Action>? {
  let isSame = state.checkpoint?.validator?.compared(with: head) == .same
  guard !state.attempts.judgesAlone, let known = state.knownFile,
    let why = known.suspicion(of: new, isSame: isSame)
  else { return nil }
  if state.suspect?.confirms(new, type: known.mediaType, now: now) == true {
    return TableDecision(12, .changedUseBody(new))
  }
  // The range may be why. A response to a plain request is judged by itself.
  if asked.isRange, !state.attempts.askedWhole { return TableDecision(12, .onceWhole) }
  let page = state.suspect?.next(new, now: now) ?? SuspectPage(new, now: now)
  let kept = state.checkpoint == nil ? "the file" : "the partial file"
  let length = new.completeLength.map { ", \($0) bytes" } ?? ""
  var error = TransferError(
    .suspectPage,
    "the server sent \(why) (\(new.mediaType ?? "no media type")\(length)) instead of the file; \(kept) is kept",
    status: head.status,
    // Only what may be confirmed is worth the wait.
    retryAfter: page.isConfirmable(for: known.mediaType) ? .seconds(SuspectPage.patience) : nil)
  // A length that an earlier answer stated, and this one does not.
  if new.completeLength == nil, new.mediaType == nil || new.mediaType == known.mediaType {
    if state.policy.acceptUnverifiedLength { return nil }
    error.errorClass = .unverifiedLength
    error.remedy = .acceptUnverifiedLength
  }
  // A digest is proof, whatever the answer looks like.
  if state.policy.digest != nil { return TableDecision(12, .trial(new, page, error)) }
  return TableDecision(12, .suspect(page, error))
}

extension ResponseHead {
  /// The first byte of the part that a 200 says it carries; nil where it says nothing of the kind, or carries the whole.
  fileprivate func partClaim(for state: TransferState) -> Int64? {
    guard values("Content-Range").contains(where: { $0.lowercased().hasPrefix("bytes") }) else {
      return nil
    }
    do throws(ContentRange.Malformed) {
      guard case .part(let first, let last, let total) = try ContentRange(self) else { return nil }
      if first > 0 { return first }
      let length = if case .bytes(let length) = bodyLength { length } else { last + 1 }
      let whole = total ?? state.policy.expectedLength
      return length == whole || whole == nil && state.wantedDigest != nil ? nil : first
    } catch {
      guard error != .otherUnit else { return nil }
      // Repeated or beyond the grammar: nobody can tell which bytes these are, unless all say that they begin at 0.
      let starts = values("Content-Range").map { value in
        var scanner = TextScanner(value)
        _ = scanner.takeWhile { !$0.isDigit }
        guard let first = scanner.integer(), scanner.take("-") else { return Int64(0) }
        return first
      }
      return starts.allSatisfy { $0 == 0 } ? nil : starts.compactMap(\.self).max() ?? 0
    }
  }
}

extension Representation {
  /// What the head of a 200 says.
  init(_ head: ResponseHead, now: HTTPDate) {
    if case .bytes(let length) = head.bodyLength { completeLength = length }
    validator = Validator(head, now: now)
    contentEncoding = head.contentEncoding
    mediaType = head.mediaType
    suggestedName = head.suggestedName
    digest = head.statedDigest
    modified = head.modified(now: now)?.seconds
    hasWeakValidator =
      validator == nil && !(head.values("ETag") + head.values("Last-Modified")).isEmpty
  }
}
