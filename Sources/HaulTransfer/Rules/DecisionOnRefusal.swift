/// Rows 18, 19, 27 and 28: answers that carry nothing of the file.
func decideRefused(
  _ state: TransferState, asked: RequestKind, head: ResponseHead, now: HTTPDate
) -> TableDecision<Action> {
  switch head.status {
  // Row 19: the host asks for less, or has trouble of its own.
  case 429:
    return failure(
      19, .rateLimited, "the server asks for fewer requests (429)", head,
      retryAfter: head.retryAfter(now: now) ?? head.requestsReturn(now: now))
  case 403 where head.retryAfter(now: now) != nil || head.hasNoRequestsLeft:
    return failure(
      19, .rateLimited, "the server asks for fewer requests (403)", head,
      retryAfter: head.retryAfter(now: now) ?? head.requestsReturn(now: now))
  case 503 where head.retryAfter(now: now) != nil:
    return failure(
      19, .rateLimited, "the server asks to come back later (503)", head,
      retryAfter: head.retryAfter(now: now))
  // Row 19: the connection leads to a server that does not answer for this host (RFC 9110 §15.5.20).
  case 421 where !state.attempts.askedFresh:
    return TableDecision(19, .freshConnection)
  // Row 18: behind a redirect the address may have expired, so once more from the start.
  case let status where state.attempts.redirects > 0 && [401, 403, 404, 410].contains(status):
    if !state.attempts.askedOriginal { return TableDecision(18, .fromOriginal) }
    if asked.isRange, status != 401, !state.attempts.askedWhole {
      return TableDecision(27, .onceWhole)
    }
    return failure(
      18, .refused(status), "the server answered \(status) behind a redirect, twice", head)
  // Row 28: a network on the way wants a log-in of its own (RFC 6585 §6). Nothing of it is the host's.
  case 511:
    return failure(
      28, .proxy, "a network on the way wants a log-in before it lets anything through (511)", head)

  // Row 27: it may be the range that is not liked.
  case let status where asked.isRange && state.rejectsRange(status):
    return TableDecision(27, .onceWhole)

  // It is this file that has to wait.
  case 402...499 where ![404, 410].contains(head.status) && head.retryAfter(now: now) != nil:
    return failure(
      19, .http5xx, "the server answered \(head.status) and asks to come back later", head,
      retryAfter: head.retryAfter(now: now))
  case 202:
    return failure(
      19, .http5xx, "the server is still preparing the file (202)", head,
      retryAfter: head.retryAfter(now: now))
  case 408, 425, 500...599:
    return failure(
      19, .http5xx, "the server answered \(head.status)", head,
      retryAfter: head.retryAfter(now: now))
  case 400...499:
    return failure(nil, .refused(head.status), "the server answered \(head.status)", head)
  case 300:
    return failure(nil, .http4xx, "the server offers several files to choose from (300)", head)
  default:
    return failure(
      nil, .protocol, "the server answered \(head.status), which carries no file", head)
  }
}

extension TransferState {
  /// Whether an answer of `status` to a range calls for a request without one.
  ///
  /// What speaks of the client comes first: logins (401), rate limits (429, 503), the wrong connection (421). What passes by
  /// itself is asked for again with a pause, and counts as the range's fault after three equal answers.
  func rejectsRange(_ status: Int) -> Bool {
    if attempts.askedWhole { return false }
    switch status {
    case 401, 421, 429, 503: return false
    case 408, 425, 500, 502, 504:
      return checkpoint?.refusal.map { $0.status == status && $0.count >= 2 } ?? false
    default: return true
    }
  }
}
