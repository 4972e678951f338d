/// A verdict, and the row of the decision table that gave it, for logs and tests.
struct TableDecision<Verdict: Sendable & Equatable>: Sendable, Equatable {
  /// The row, from 1 to 28; nil for an ordinary response without a row.
  var row: Int?
  var verdict: Verdict

  init(_ row: Int?, _ verdict: Verdict) {
    self.row = row
    self.verdict = verdict
  }
}

/// The facts that a response's head states about the representation that its body carries from offset 0.
struct Representation: Sendable, Hashable {
  /// The length in bytes; nil if only the end of the body shows it.
  var completeLength: Int64?
  var validator: Validator?
  /// The content coding, in the form of ``Checkpoint/contentEncoding``.
  var contentEncoding: String?
  /// The media type, in the form of ``Checkpoint/mediaType``.
  var mediaType: String?
  /// The name that the server sends for the file, in the form of ``ResponseHead/suggestedName``.
  var suggestedName: String?
  /// The digest that the server states, in the form of ``Checkpoint/digest``.
  var digest: ExpectedDigest?
  /// The time of the source's last change, in the form of ``Checkpoint/modified``.
  var modified: Int64?
  /// Whether the head has a tag or date that distinguishes versions, but not reliably enough for a resume.
  var hasWeakValidator = false
}

/// What to do with a response. Haul decides this from the response's head, before it writes a byte of the body.
///
/// The enum is `indirect` to keep it small.
indirect enum Action: Sendable, Equatable {
  /// Take the body as bytes `start..<end` of the file. The disk already has the bytes before `compareUntil`: compare them. A
  /// difference means that the source changed; see `TransferState.overlapDiffered`.
  case accept(start: Int64, compareUntil: Int64, end: Int64)
  /// Take the body from byte 0 into a new part file. `resumable` says whether a later request may ask for the rest of this
  /// body.
  case wholeBody(Representation, resumable: Bool)
  /// Take the body from byte 0, and compare its beginning with the part file. If the body begins with all bytes of the part
  /// file, it is the same file. `isSame` is true if the validator has not changed; Haul then keeps new bytes even if the body
  /// breaks off. If a byte differs, request the whole file once more; see `TransferState.wholeDiffered`.
  case compare(Representation, isSame: Bool, resumable: Bool)
  /// The source changed, and this body is the new representation. Take the body from byte 0 into a new part file.
  case changedUseBody(Representation)
  /// The source changed. Stop reading this response, and request the whole file.
  case changedRestart
  /// Stop reading this response, request the whole file, and do not request a range again in this transfer.
  case restart(markRangeUnsafe: Bool)
  /// Request the range again without If-Range.
  case oncePlainRange
  /// Request the whole file once, and keep the part file until Haul accepts the response.
  case onceWhole
  /// The response contradicts the checkpoint. Send the request again.
  case askAgain
  /// Responses contradicted the checkpoint too often. Request the whole file, and judge the response without the checkpoint.
  case startOver
  /// The response may be an error page. Read the beginning of the response for the error message, then fail. The part file
  /// stays.
  case suspect(SuspectPage, TransferError)
  /// The response may be an error page, but the job's digest can decide. Take the body from byte 0 into a separate part file.
  /// If the digest does not match, fail with this error. The old part file stays until then.
  case trial(Representation, SuspectPage, TransferError)
  /// The response states no length. Take the body from byte 0 into a separate part file. If the body is much shorter than the
  /// file (`KnownFile.isMuchLonger`), and no digest of the job proves the body, remember the response as this suspect page and
  /// fail with this error. The old part file stays until then.
  case unsizedTrial(Representation, SuspectPage, TransferError)
  /// Request one byte, to learn the source's length and validator.
  case probe
  /// The source is unchanged. Request the missing bytes.
  case askForRest
  /// Every byte is durable. Continue with the verification.
  case verify
  /// The source still has the finished file. No download is needed.
  case unchanged
  /// Send the request once more, over a new connection.
  case freshConnection
  /// Follow the redirect, and apply the scheme rules and the address policy again. Send credentials only to the origin that
  /// they belong to.
  case redirect(to: String)
  /// Start at the original URL once more, since the URLs of redirects may have expired.
  case fromOriginal
  /// Fail; the error class determines whether Haul may retry. The part file stays. The caller adds the host to the error.
  case fail(TransferError)
}

/// Decides what the head of a response means, given the durable bytes and the request: the decision table.
///
/// `decideWhole` judges a 200, and a 206 that carries the whole file although no range was requested. `decidePart` judges every
/// other 206, and `decideUnsatisfied` a 416. Rows 20 to 24 of the table are about a body's end; see `decideEnd`.
func decide(
  _ state: TransferState, asked: RequestKind, head: ResponseHead, now: HTTPDate
) -> TableDecision<Action> {
  switch head.status {
  // 203 is 200 changed by a proxy (RFC 9110 §15.3.4).
  case 200, 203:
    return decideWhole(state, asked: asked, head: head, now: now)
  // The body of a 201 may be the created file (RFC 9110 §15.3.2).
  case 201 where state.policy.sendsBody && head.bodyLength != .bytes(0):
    return decideWhole(state, asked: asked, head: head, now: now)
  // The answer carries the whole file, declared as a range.
  case 206
  where !asked.isRange && head.mediaType != "multipart/byteranges" && head.isRangeOfAll:
    return decideWhole(state, asked: asked, head: head, now: now)
  case 206:
    return decidePart(state, asked: asked, head: head)
  case 416:
    return decideUnsatisfied(state, asked: asked, head: head)

  // Row 16: the condition of a range request failed.
  case 412 where asked.isRange:
    return TableDecision(16, .changedRestart)

  // Row 17: 304 answers the condition, if the answer's validator is the one that was sent.
  case 304 where asked == .ifChanged:
    let isMeant = state.present?.isMeant(by: head) ?? false
    return TableDecision(17, isMeant ? .unchanged : .restart(markRangeUnsafe: false))
  // The request had no If-None-Match or If-Modified-Since.
  case 304:
    return failure(
      17, .protocol, "the server sent 304 Not Modified, but the request was not conditional", head)

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
  // A repeated field with the same value counts once.
  let locations = Set(head.values("Location"))
  guard locations.count == 1, let location = locations.first, !location.isEmpty else {
    return failure(
      25, .protocol,
      "the server sent status \(head.status) with no Location header, or with several", head)
  }
  guard state.attempts.redirects < state.policy.maximumRedirects else {
    return failure(
      25, .redirects,
      "the server redirected more than \(state.policy.maximumRedirects) times in a row", head)
  }
  return TableDecision(25, .redirect(to: HeaderText.percentEncoded(location)))
}

/// Returns a decision that ends the transfer.
func failure(
  _ row: Int?, _ errorClass: TransferError.Class, _ message: String, _ head: ResponseHead,
  retryAfter: Duration? = nil
) -> TableDecision<Action> {
  TableDecision(
    row,
    .fail(TransferError(errorClass, message, status: head.status, retryAfter: retryAfter)))
}
