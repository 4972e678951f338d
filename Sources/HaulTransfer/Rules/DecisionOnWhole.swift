/// Decides rows 10 to 12 and 26 of the decision table, and the ordinary response to an ordinary request: 200 OK.
func decideWhole(
  _ state: TransferState, asked: RequestKind, head: ResponseHead, now: HTTPDate
) -> TableDecision<Action> {
  let new = Representation(head, now: now)
  // Row 26: the answer says that it carries a part, so it is judged as a part.
  if let first = head.partClaim(for: state) {
    if asked.isRange { return decidePart(state, asked: asked, head: head) }
    return failure(
      26, .protocol, "the server sent only a part of the file, from byte \(first)",
      head)
  }
  if let ruling = decideUnwanted(state.policy, new, head, now: now) { return ruling }
  if let ruling = decideSuspect(state, asked: asked, new, head, now: now) { return ruling }
  guard let record = state.checkpoint else {
    return TableDecision(nil, .wholeBody(new, resumable: true))
  }
  if asked.isRange { return decideUnranged(state, record, asked: asked, new, head) }
  if state.isBack(new, head) { return TableDecision(27, .askForRest) }
  // The part can be kept if the new body contains it.
  if record.validator?.compared(with: head) == .same, state.canCompare(new, head, least: 1) {
    return TableDecision(nil, .compare(new, isSame: true, resumable: true))
  }
  return TableDecision(nil, .wholeBody(new, resumable: true))
}

/// Rejects responses that the job does not accept, whatever the part holds. Returns nil if the job accepts the response.
private func decideUnwanted(
  _ policy: TransferState.Policy, _ new: Representation, _ head: ResponseHead, now: HTTPDate
) -> TableDecision<Action>? {
  if head.bodyLength == .malformed {
    return failure(
      nil, .protocol, "the response's Content-Length is not a number, or has several values", head)
  }
  if let limit = policy.maximumLength, let length = new.completeLength, length > limit {
    return failure(
      nil, .tooLarge, "the file has \(length) bytes, but the maximum is \(limit)", head)
  }
  if let error = policy.refusal(ofLength: new.completeLength) {
    return failure(nil, error.errorClass, error.message, head)
  }
  guard let expected = policy.expectedType, !expected.allows(new.mediaType) else { return nil }
  let error = TransferError(
    .suspectPage,
    "the server sent \(new.mediaType ?? "no media type"), but \(expected) was expected",
    status: head.status)
  return TableDecision(12, .suspect(SuspectPage(new, now: now), error))
}

/// Decides rows 10, 11 and 15 of the decision table: the server sent the whole file, although Haul requested a range.
private func decideUnranged(
  _ state: TransferState, _ record: Checkpoint, asked: RequestKind, _ new: Representation,
  _ head: ResponseHead
) -> TableDecision<Action> {
  let isSame = record.validator?.compared(with: head) == .same
  let taken: Action =
    isSame && state.canCompare(new, head, least: 1)
    ? .compare(new, isSame: true, resumable: false) : .wholeBody(new, resumable: false)
  // The part has no validator of the server. Only the job's digest can prove the file.
  if record.validator == .jobDigest { return TableDecision(10, taken) }

  // Row 11: the same validator and another length contradict each other. The body may be the rest of the file, sent as if it
  // were the whole file.
  if isSame, let length = new.completeLength, length != record.completeLength,
    !record.isFromElsewhere
  {
    let isFinal = state.attempts.contradictions + 1 >= Attempts.maximumContradictions
    return TableDecision(11, isFinal ? .startOver : .askAgain)
  }
  if !state.attempts.askedWhole, asked.mayBeAnswered(by: new, record) {
    return TableDecision(11, .onceWhole)
  }
  // Row 11: the answer is not the recorded file, or nothing proves that it is. This also holds if the answer is exactly as long
  // as the part.
  guard isSame,
    new.contentEncoding == record.contentEncoding,
    (new.completeLength ?? record.completeLength) == record.completeLength,
    state.stated.map(head.contradicts) != true
  else {
    return TableDecision(11, .changedUseBody(new))
  }
  // A probe has shown that the source is unchanged, and no byte is missing.
  if asked == .probe, record.isComplete { return TableDecision(15, .verify) }
  // Row 10: the same file, but the server refused the range. Ask once without If-Range, then take the whole body from byte 0.
  if case .part(_, _, ifRange: true) = asked, !state.attempts.askedPlainRange {
    return TableDecision(10, .oncePlainRange)
  }
  return TableDecision(10, taken)
}

extension TransferState {
  /// Row 27: whether a response to a request for the whole file shows that the server works again, and still has the recorded
  /// file. If so, nothing suggests that the server refuses ranges.
  fileprivate func isBack(_ new: Representation, _ head: ResponseHead) -> Bool {
    guard attempts.outage == .suspected, !attempts.wholeOnly, let checkpoint,
      checkpoint.isResumable, let validator = checkpoint.validator, validator.ifRangeValue != nil
    else { return false }
    return validator.compared(with: head) == .same && canCompare(new, head, least: 1)
  }
}

extension RequestKind {
  /// Whether a 200 may carry only the rest of the file, as if it were the whole file. This is possible if it states no length,
  /// or if its length is that of the requested range or of the range's missing bytes.
  fileprivate func mayBeAnswered(by new: Representation, _ record: Checkpoint) -> Bool {
    guard case .part(let range, let fresh, _) = self else { return false }
    guard let length = new.completeLength else { return true }
    if length == record.completeLength { return false }
    return length == range.upperBound - range.lowerBound || length == range.upperBound - fresh
  }
}

/// Decides row 12 of the decision table: a body that looks like an error page does not replace a part or a finished file,
/// unless the same response comes again later, or a digest or equal bytes prove the body. Returns nil if the body does not look
/// like one.
private func decideSuspect(
  _ state: TransferState, asked: RequestKind, _ new: Representation, _ head: ResponseHead,
  now: HTTPDate
) -> TableDecision<Action>? {
  guard let known = state.knownFile else { return nil }
  guard let why = known.suspicion(of: new, isSame: state.isSame(head)) else {
    return decideUnsized(state, asked: asked, new, known, head, now: now)
  }
  if state.suspect?.confirms(new, type: known.mediaType, now: now) == true {
    return TableDecision(12, .changedUseBody(new))
  }
  // The answer may still be the file, for example from a server that sometimes omits the validator.
  if state.canCompare(new, head, least: KnownFile.leastProof) {
    return TableDecision(12, .compare(new, isSame: false, resumable: true))
  }
  // The range may be the cause. Request the whole file once without a range, and judge that response instead.
  if asked.isRange, !state.attempts.askedWhole { return TableDecision(12, .onceWhole) }
  let page = state.suspect?.next(new, now: now) ?? SuspectPage(new, now: now)
  let kept = state.checkpoint == nil ? "the file" : "the partial file"
  let length = new.completeLength.map { ", \($0) bytes" } ?? ""
  var error = TransferError(
    .suspectPage,
    "the server sent \(why) (\(new.mediaType ?? "no media type")\(length)) instead of the file; \(kept) is kept",
    status: head.status,
    // Only a response that may be confirmed later is worth the wait.
    retryAfter: page.isConfirmable(for: known.mediaType) ? .seconds(SuspectPage.patience) : nil)
  // An earlier answer stated a length, and this one does not.
  if new.completeLength == nil, new.mediaType == nil || new.mediaType == known.mediaType {
    if state.policy.acceptUnverifiedLength { return nil }
    error.errorClass = .unverifiedLength
    error.remedy = .acceptUnverifiedLength
  }
  // A digest is proof, whatever the answer looks like.
  if state.policy.digest != nil { return TableDecision(12, .trial(new, page, error)) }
  return TableDecision(12, .suspect(page, error))
}

/// Decides row 12 of the decision table for a body without a stated length. Its length shows only at its end, and the old part
/// stays until then. Returns nil if the body needs no trial.
private func decideUnsized(
  _ state: TransferState, asked: RequestKind, _ new: Representation, _ known: KnownFile,
  _ head: ResponseHead, now: HTTPDate
) -> TableDecision<Action>? {
  guard new.completeLength == nil, !asked.isRange,
    known.isMuchLonger(than: 0), !state.attempts.secondDownload,
    !state.policy.acceptUnverifiedLength
  else { return nil }
  if state.suspect?.confirms(new, type: known.mediaType, now: now) == true { return nil }
  let page = state.suspect?.next(new, now: now) ?? SuspectPage(new, now: now)
  let error = TransferError(
    .suspectPage,
    "the server sent a much shorter response (\(new.mediaType ?? "no media type")) instead of the file; \(state.checkpoint == nil ? "the file" : "the partial file") is kept",
    status: head.status,
    retryAfter: page.isConfirmable(for: known.mediaType) ? .seconds(SuspectPage.patience) : nil)
  return TableDecision(12, .unsizedTrial(new, page, error))
}

extension ResponseHead {
  /// The first byte of the part that a 200 claims to carry; nil if it claims no part, or carries the whole file.
  fileprivate func partClaim(for state: TransferState) -> Int64? {
    let length = if case .bytes(let length) = bodyLength { length } else { Int64?.none }
    // If there are several fields, each must describe the whole file.
    return values("Content-Range").lazy.compactMap { value -> Int64? in
      do throws(ContentRange.Malformed) {
        switch try ContentRange(value) {
        case .part(let first, let last, let total):
          if first > 0 { return first }
          let whole = total ?? state.policy.expectedLength
          let isWhole = (length ?? last + 1) == whole
          return isWhole || whole == nil && state.wantedDigest != nil ? nil : 0
        // The field of a 416, sent with another status.
        case .unsatisfied(let total): return length ?? total == total ? nil : 0
        }
      } catch {
        guard value.lowercased().hasPrefix("bytes") || value.utf8.first?.isDigit == true else {
          return nil
        }
        // The field is malformed. Nothing shows which bytes these are, unless they begin at 0.
        var scanner = TextScanner(value)
        scanner.skipWhile { !$0.isDigit }
        guard let first = scanner.integer(), scanner.take("-") else { return nil }
        return first == 0 ? nil : first
      }
    }.first
  }

  /// Whether the head has a Content-Range, and every Content-Range covers the whole file.
  var isRangeOfAll: Bool {
    let values = values("Content-Range")
    return !values.isEmpty
      && values.allSatisfy { value in
        guard case .part(first: 0, let last, let total?)? = try? ContentRange(value) else {
          return false
        }
        return last + 1 == total
      }
  }

  /// The length of the whole file, from a Content-Range that covers the whole file or states only the length; nil if there is
  /// none.
  fileprivate var rangedLength: Int64? {
    switch try? ContentRange(self) {
    case .part(first: 0, let last, let total?) where last + 1 == total: total
    case .unsatisfied(let total): total
    default: nil
    }
  }
}

extension Representation {
  /// Reads the head of a response whose body starts at byte 0.
  init(_ head: ResponseHead, now: HTTPDate) {
    completeLength =
      if case .bytes(let length) = head.bodyLength { length } else { head.rangedLength }
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
