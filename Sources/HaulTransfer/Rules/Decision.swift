/// A verdict and the row of the table that gave it, for logs and tests.
struct TableDecision<Verdict: Sendable & Equatable>: Sendable, Equatable {
  /// 1 to 28; nil for an ordinary answer that no row is about.
  var row: Int?
  var verdict: Verdict

  init(_ row: Int?, _ verdict: Verdict) {
    self.row = row
    self.verdict = verdict
  }
}

/// What an answer's head says about the representation that its body carries from offset 0.
struct Representation: Sendable, Hashable {
  /// In bytes; nil where only the end of the body tells.
  var completeLength: Int64?
  var validator: Validator?
  /// The content coding, as ``Checkpoint/contentEncoding`` keeps it.
  var contentEncoding: String?
  /// The media type, as ``Checkpoint/mediaType`` keeps it.
  var mediaType: String?
  /// The name that the server sends for the file, as ``ResponseHead/suggestedName`` gives it.
  var suggestedName: String?
  /// The digest that the server states, as ``Checkpoint/digest`` keeps it.
  var digest: ExpectedDigest?
  /// The source's time of change, as ``Checkpoint/modified`` keeps it.
  var modified: Int64?
  /// Whether the head has a tag or date that tells versions apart, though not well enough to resume by.
  var hasWeakValidator = false
}

/// What to do with an answer, decided from its head, before a byte of its body is written.
enum Action: Sendable, Equatable {
  /// Take the body as bytes `start..<end`. Those before `compareUntil` are on disk already: compare
  /// them, and a difference is CHANGED, see `TransferState.overlapDiffered`.
  case accept(start: Int64, compareUntil: Int64, end: Int64)
  /// Take the body from 0, into a new part file. `resumable`: a later request may ask for its rest.
  case wholeBody(Representation, resumable: Bool)
  /// Take the body from 0, and compare it with the part as far as that goes: it is the same file if all of the part is in it.
  /// `isSame`: its validator says so too, so what it adds counts even where it breaks off. Where a byte differs, ask for
  /// everything once more, see `TransferState.wholeDiffered`.
  case compare(Representation, isSame: Bool, resumable: Bool)
  /// CHANGED, and this body is the new representation: take it from 0, into a new part file.
  case changedUseBody(Representation)
  /// CHANGED: end this answer unread and ask for everything.
  case changedRestart
  /// End this answer unread and ask for everything, never again for a range.
  case restart(markRangeUnsafe: Bool)
  /// Ask for the same range without If-Range.
  case oncePlainRange
  /// Ask for everything once, and keep the part file until that answer is accepted.
  case onceWhole
  /// The answer contradicts what was recorded: ask the same again.
  case askAgain
  /// The answer contradicts what was recorded, again and again: ask for everything, and judge that answer alone.
  case startOver
  /// The answer may be an error page: read its beginning for the message, then fail. The part file stays.
  case suspect(SuspectPage, TransferError)
  /// The answer may be an error page, but the job's digest can tell, or its length: take the body from 0, into a part file of its
  /// own. If the digest does not match, or the body is much shorter, fail with this error. The old part stays until then.
  case trial(Representation, SuspectPage, TransferError)
  /// Ask for one byte, to learn what the source is.
  case probe
  /// The source is what was recorded: ask for what is missing.
  case askForRest
  /// Everything is durable: go to verify.
  case verify
  /// The source still has the finished file: there is no need to download.
  case unchanged
  /// Ask the same once more, over a connection of its own.
  case freshConnection
  /// Follow, with scheme and address policy applied again; credentials stay with their origin.
  case redirect(to: String)
  /// Begin at the original URL once more: what redirects named may have expired.
  case fromOriginal
  /// Give up for now or for ever, as the class says. The part file stays. The caller adds the host.
  case fail(TransferError)
}

/// The table: what the head of an answer means, given what is durable and what was asked.
///
/// Rows 206 in `decidePart`, 200 in `decideWhole`, 416 in `decideUnsatisfied`; rows 20 to 24 are
/// about a body's end, see `decideEnd`.
func decide(
  _ state: TransferState, asked: RequestKind, head: ResponseHead, now: HTTPDate
) -> TableDecision<Action> {
  switch head.status {
  // 203 is 200 changed by a proxy (RFC 9110 §15.3.4).
  case 200, 203:
    return decideWhole(state, asked: asked, head: head, now: now)
  // Its body may be what was made (RFC 9110 §15.3.2).
  case 201 where state.policy.sendsBody && head.bodyLength != .bytes(0):
    return decideWhole(state, asked: asked, head: head, now: now)
  // The whole, told as a range of it.
  case 206
  where !asked.isRange && head.mediaType != "multipart/byteranges" && head.isRangeOfAll:
    return decideWhole(state, asked: asked, head: head, now: now)
  case 206:
    return decidePart(state, asked: asked, head: head)
  case 416:
    return decideUnsatisfied(state, asked: asked, head: head)

  // Row 16: a condition failed that only a range request carries.
  case 412 where asked.isRange:
    return TableDecision(16, .changedRestart)

  // Row 17: what was asked, if the answer speaks of that and of nothing else.
  case 304 where asked == .ifChanged:
    let isMeant = state.present?.isMeant(by: head) ?? false
    return TableDecision(17, isMeant ? .unchanged : .restart(markRangeUnsafe: false))
  // Nothing was conditional on If-None-Match or If-Modified-Since.
  case 304:
    return failure(17, .protocol, "304 Not Modified, though the request was not conditional", head)

  // Row 25.
  case 301, 302, 303, 307, 308:
    return decideRedirect(state, head: head)
  case 300 where !head.values("Location").isEmpty:
    return decideRedirect(state, head: head)

  default:
    return decideRefused(state, asked: asked, head: head, now: now)
  }
}

private func decideRedirect(_ state: TransferState, head: ResponseHead) -> TableDecision<Action> {
  // The same field twice says it once.
  let locations = Set(head.values("Location"))
  guard locations.count == 1, let location = locations.first, !location.isEmpty else {
    return failure(25, .protocol, "status \(head.status) without one Location", head)
  }
  guard state.attempts.redirects < state.policy.maximumRedirects else {
    return failure(
      25, .redirects, "more than \(state.policy.maximumRedirects) redirects in a row", head)
  }
  return TableDecision(25, .redirect(to: HeaderText.percentEncoded(location)))
}

/// A ruling that ends the transfer.
func failure(
  _ row: Int?, _ errorClass: TransferError.Class, _ message: String, _ head: ResponseHead,
  retryAfter: Duration? = nil
) -> TableDecision<Action> {
  TableDecision(
    row,
    .fail(TransferError(errorClass, message, status: head.status, retryAfter: retryAfter)))
}
