/// Decisions on responses that state their range: 206 and 416.

/// Decides rows 1 to 9 of the decision table: 206 Partial Content.
func decidePart(_ state: TransferState, asked: RequestKind, head: ResponseHead) -> TableDecision<
  Action
> {
  // Row 9: no Range was sent.
  guard asked.isRange, let record = state.checkpoint, let validator = record.validator else {
    return failure(
      9, .protocol, "the server sent 206 Partial Content, but no range was requested", head)
  }
  // Row 1: the answer does not show which bytes it carries.
  guard head.mediaType != "multipart/byteranges",
    case .part(let first, let last, let total)? = try? ContentRange(head)
  else {
    return TableDecision(1, .restart(markRangeUnsafe: true))
  }
  let (range, fresh, ifRange) = asked.bounds
  // Row 4: the answer has bytes that were not requested, or more or fewer bytes than it announces.
  guard first <= range.lowerBound, last < range.upperBound,
    head.bodyLength == .unknown || head.bodyLength == .bytes(last - first + 1)
  else {
    return TableDecision(4, .restart(markRangeUnsafe: true))
  }
  // Row 5: the answer is another representation, whatever If-Range said.
  let comparison = validator.compared(with: head)
  if comparison == .different || (total ?? record.completeLength) != record.completeLength
    || state.stated.map(head.contradicts) == true
  {
    return TableDecision(5, .changedRestart)
  }
  // Row 8: another content coding, so the offsets mean something else.
  guard head.contentEncoding == record.contentEncoding else {
    return TableDecision(8, .restart(markRangeUnsafe: false))
  }
  // Row 6: without a length, only the validator can identify the file.
  if total == nil, comparison != .same || validator.ifRangeValue == nil {
    return TableDecision(6, .restart(markRangeUnsafe: false))
  }
  // Row 7: the validator is missing. With If-Range, the server may omit the validator, but Haul cannot see whether the server
  // supports If-Range. Ask once more without If-Range. Then the server must send the validator (RFC 9110 §15.3.7).
  if comparison == .absent {
    let isFirst = ifRange && !state.attempts.askedPlainRange
    return TableDecision(7, isFirst ? .oncePlainRange : .restart(markRangeUnsafe: false))
  }
  // A probe has shown that the source is unchanged.
  if asked == .probe { return TableDecision(15, record.isComplete ? .verify : .askForRest) }
  // Row 3: the answer starts early, so the overlap is longer. Row 2: the answer is as requested, perhaps shorter.
  let row = first < range.lowerBound ? 3 : total == nil ? 6 : 2
  return TableDecision(
    row, .accept(start: first, compareUntil: min(fresh, last + 1), end: last + 1))
}

/// Decides rows 13 to 15 of the decision table: 416 Range Not Satisfiable.
func decideUnsatisfied(
  _ state: TransferState, asked: RequestKind, head: ResponseHead
) -> TableDecision<Action> {
  guard asked.isRange, let record = state.checkpoint else {
    return failure(nil, .http4xx, "the server sent 416, but no range was requested", head)
  }
  if case .unsatisfied(let length)? = try? ContentRange(head) {
    // Row 14: another length means another representation.
    if length != record.completeLength { return TableDecision(14, .changedRestart) }
    // Row 13: there is nothing after the end, and the part is complete.
    if record.isComplete { return TableDecision(13, .verify) }
  }
  // Row 15: the answer states no length, or contradicts itself.
  return TableDecision(15, state.attempts.probed ? .restart(markRangeUnsafe: false) : .probe)
}

extension RequestKind {
  /// The requested range, its first byte that is not durable, and whether If-Range guarded it.
  fileprivate var bounds: (range: Range<Int64>, fresh: Int64, ifRange: Bool) {
    switch self {
    case .whole, .ifChanged: (0..<0, 0, false)
    case .part(let range, let fresh, let ifRange): (range, fresh, ifRange)
    case .probe: (0..<1, 0, false)
    }
  }
}
