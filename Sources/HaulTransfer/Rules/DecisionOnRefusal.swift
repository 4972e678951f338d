/// Decides rows 18, 19, 27 and 28 of the decision table: responses without any bytes of the file.
func decideRefused(
  _ state: TransferState, asked: RequestKind, head: ResponseHead, now: HTTPDate
) -> TableDecision<Action> {
  switch head.status {
  // Row 19: the host asks for fewer requests, or has a problem of its own.
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
      19, .rateLimited, "the server asks the client to try again later (503)", head,
      retryAfter: head.retryAfter(now: now))
  // Row 19: the connection leads to a server that does not answer for this host (RFC 9110 §15.5.20).
  case 421 where !state.attempts.askedFresh:
    return TableDecision(19, .freshConnection)
  // Row 18: the URL of a redirect may have expired, so start once more at the original URL.
  case let status where state.attempts.redirects > 0 && [401, 403, 404, 410].contains(status):
    if !state.attempts.askedOriginal { return TableDecision(18, .fromOriginal) }
    if asked.isRange, status != 401, !state.attempts.askedWhole {
      return TableDecision(27, .onceWhole)
    }
    return failure(
      18, .refused(status), "the server answered \(status) twice after a redirect", head)
  // Row 28: a network on the way wants a login of its own (RFC 6585 §6). The answer says nothing about the host.
  case 511:
    return failure(
      28, .proxy, "a network between this machine and the host needs a login (511)", head)

  // Row 27: the server may have rejected the range.
  case let status where asked.isRange && state.rejectsRange(status):
    return TableDecision(27, .onceWhole)

  // Only this file has to wait, not the whole host.
  case 402...499 where ![404, 410].contains(head.status) && head.retryAfter(now: now) != nil:
    return failure(
      19, .http5xx, "the server answered \(head.status) and asks the client to try again later",
      head,
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
      nil, .protocol, "the server answered \(head.status), but sent no file", head)
  }
}

extension TransferState {
  /// Returns whether Haul should request the whole file after a range request was answered with `status`.
  ///
  /// Some answers are about the client and not about the range: logins (401), rate limits (429, 503), the wrong connection
  /// (421). Temporary errors are retried after a pause. The range counts as their cause after three equal answers in a row, or
  /// if the server sends such an answer again after it has answered a request without a range.
  func rejectsRange(_ status: Int) -> Bool {
    if attempts.askedWhole { return false }
    switch status {
    case 401, 421, 429, 503: return false
    case let status where Self.passing.contains(status):
      if attempts.outage == .over { return true }
      return checkpoint?.refusal.map { $0.status == status && $0.count >= 2 } ?? false
    default: return true
    }
  }
}
