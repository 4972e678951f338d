/// Answers to range requests that say which range they carry: 206 and 416.

/// Rows 1 to 9: 206 Partial Content.
func decidePart(_ state: TransferState, asked: RequestKind, head: ResponseHead) -> TableDecision<
  Action
> {
  // Row 9: no Range was sent.
  guard asked.isRange, let record = state.checkpoint, let validator = record.validator else {
    return failure(9, .protocol, "206 Partial Content, though no range was asked for", head)
  }
  // Row 1: which bytes these are cannot be known.
  guard head.mediaType != "multipart/byteranges",
    case .part(let first, let last, let total)? = try? ContentRange(head)
  else {
    return TableDecision(1, .restart(markRangeUnsafe: true))
  }
  let (range, fresh, ifRange) = asked.bounds
  // Row 4: bytes that were not asked for, or more or fewer than announced.
  guard first <= range.lowerBound, last < range.upperBound,
    head.bodyLength == .unknown || head.bodyLength == .bytes(last - first + 1)
  else {
    return TableDecision(4, .restart(markRangeUnsafe: true))
  }
  // Row 5: another representation, whatever If-Range was for.
  let comparison = validator.compared(with: head)
  if comparison == .different || (total ?? record.completeLength) != record.completeLength
    || state.stated.map(head.contradicts) == true
  {
    return TableDecision(5, .changedRestart)
  }
  // Row 8: encoded otherwise, so that the offsets mean something else.
  guard head.contentEncoding == record.contentEncoding else {
    return TableDecision(8, .restart(markRangeUnsafe: false))
  }
  // Row 6: without a length the validator alone speaks.
  if total == nil, comparison != .same || validator.ifRangeValue == nil {
    return TableDecision(6, .restart(markRangeUnsafe: false))
  }
  // Row 7: the validator is not repeated. Under If-Range it need not be, but whether the server knows If-Range nobody can tell: once
  // more without it, where it has to be (RFC 9110 §15.3.7).
  if comparison == .absent {
    let isFirst = ifRange && !state.attempts.askedPlainRange
    return TableDecision(7, isFirst ? .oncePlainRange : .restart(markRangeUnsafe: false))
  }
  // A probe has told that the source is what was recorded.
  if asked == .probe { return TableDecision(15, record.isComplete ? .verify : .askForRest) }
  // Row 3: starts early, which only makes the overlap longer. Row 2: as asked, perhaps shorter.
  let row = first < range.lowerBound ? 3 : total == nil ? 6 : 2
  return TableDecision(
    row, .accept(start: first, compareUntil: min(fresh, last + 1), end: last + 1))
}

/// Rows 13 to 15: 416 Range Not Satisfiable.
func decideUnsatisfied(
  _ state: TransferState, asked: RequestKind, head: ResponseHead
) -> TableDecision<Action> {
  guard asked.isRange, let record = state.checkpoint else {
    return failure(nil, .http4xx, "416, though no range was asked for", head)
  }
  if case .unsatisfied(let length)? = try? ContentRange(head) {
    // Row 14: another length is another representation.
    if length != record.completeLength { return TableDecision(14, .changedRestart) }
    // Row 13: there is nothing beyond the end, and that is where we are.
    if record.isComplete { return TableDecision(13, .verify) }
  }
  // Row 15: says nothing, or contradicts itself.
  return TableDecision(15, state.attempts.probed ? .restart(markRangeUnsafe: false) : .probe)
}

extension RequestKind {
  /// The range asked for, its first byte that is not durable, and whether If-Range guarded it.
  fileprivate var bounds: (range: Range<Int64>, fresh: Int64, ifRange: Bool) {
    switch self {
    case .whole, .ifChanged: (0..<0, 0, false)
    case .part(let range, let fresh, let ifRange): (range, fresh, ifRange)
    case .probe: (0..<1, 0, false)
    }
  }
}
