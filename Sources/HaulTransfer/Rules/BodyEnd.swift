/// How a body came to its end, as libcurl tells it.
enum Framing: Sendable, Hashable, CaseIterable {
  /// The announced length was reached, the last chunk or END_STREAM came.
  case complete
  /// The connection was closed and nothing had announced a length.
  case closed
  /// The connection was closed as in `closed`, but without the end that TLS announces.
  case cut
  /// The connection broke, a chunk or frame was malformed, or the last chunk is missing.
  case broken
  /// More bytes came than were announced; they were not written.
  case excess
}

/// A body that has ended, every byte of it written.
struct Body: Sendable, Hashable {
  /// What was accepted.
  enum Kind: Sendable, Hashable {
    /// From 0, of this length where it is known.
    case whole(length: Int64?)
    /// Up to `end`, exclusive. `allThere`: with it no byte of the representation is missing.
    case part(end: Int64, allThere: Bool)
  }

  var kind: Kind
  var framing: Framing
  /// One past the last byte that was kept.
  var end: Int64
  /// Whether a byte was kept that was not durable before.
  var progress: Bool
}

/// What to do at a body's end.
enum BodyEnding: Sendable, Equatable {
  /// Every byte of `length` is there: check the digest, if one is wanted, and publish.
  case verify(length: Int64)
  /// Every byte of `length` is there, but the server sent more: close the connection, and let the digest decide.
  case dropExcessAndVerify(length: Int64)
  /// What came is valid; ask for what is missing.
  case askForRest
  /// Ask for everything, never again for a range.
  case restart
  /// Nothing says that this is all: download once more, to compare length and digest.
  case secondDownload
  /// This is the second download: equal to the first in length and digest is complete, else the
  /// transfer fails as `unverified_length`.
  case compareWithFirst
  /// Give up for now; the part file stays.
  case fail(TransferError)
}

/// Rows 20 to 24: what the end of a body means.
func decideEnd(_ state: TransferState, body: Body) -> TableDecision<BodyEnding> {
  switch (body.kind, body.framing) {
  // Row 21: an answer that contradicts itself proves nothing; only a digest can.
  case (.part(_, allThere: true), .excess) where state.wantedDigest != nil:
    return TableDecision(
      21, .dropExcessAndVerify(length: state.checkpoint?.completeLength ?? body.end))
  case (.whole(let length?), .excess) where state.wantedDigest != nil:
    return TableDecision(21, .dropExcessAndVerify(length: length))
  case (_, .excess):
    if state.attempts.wholeOnly {
      return failure(21, .protocol, "the server sent more bytes than it announced")
    }
    return TableDecision(21, .restart)

  case (.part(_, allThere: true), _):
    return TableDecision(nil, .verify(length: state.checkpoint?.completeLength ?? body.end))
  // Row 2: the answer ended early as it had announced. Rows 20, 22, 24: it broke off.
  case (.part(let end, _), _):
    return rest(state, progress: body.progress, row: body.end == end ? 2 : shortRow(body.framing))

  case (.whole(let length?), _):
    if body.end == length { return TableDecision(nil, .verify(length: length)) }
    return rest(state, progress: body.progress, row: shortRow(body.framing))

  case (.whole(nil), .complete):
    if !state.isValidated, let error = state.lostLength(body.end) {
      return TableDecision(23, .fail(error))
    }
    return TableDecision(nil, .verify(length: body.end))
  // Row 22: the last chunk is missing, so nobody knows how much is.
  case (.whole(nil), .broken):
    return failure(22, .interrupted, "the body broke off and its length is not known")
  case (.whole(nil), .closed):
    return decideClosed(state, body: body)
  // Row 23: anybody on the way may have ended it (RFC 9112 §9.8), and only a digest tells that nobody did.
  case (.whole(nil), .cut):
    if state.wantedDigest != nil { return TableDecision(23, .verify(length: body.end)) }
    return failure(23, .interrupted, "the TLS connection was cut and the length is not known")
  }
}

/// Row 23: no length, and closed by the peer, which looks the same whether it was the end or not.
private func decideClosed(_ state: TransferState, body: Body) -> TableDecision<BodyEnding> {
  if let expected = state.policy.expectedLength {
    if body.end == expected { return TableDecision(23, .verify(length: expected)) }
    return failure(
      23, .interrupted, "\(body.end) bytes came and \(expected) were expected")
  }
  if state.wantedDigest != nil || state.policy.acceptUnverifiedLength {
    return TableDecision(23, .verify(length: body.end))
  }
  if let error = state.lostLength(body.end) { return TableDecision(23, .fail(error)) }
  return TableDecision(23, state.attempts.secondDownload ? .compareWithFirst : .secondDownload)
}

extension TransferState {
  /// Why a body of `length` bytes, which stated no length, is not the file; nil where nothing says so.
  fileprivate func lostLength(_ length: Int64) -> TransferError? {
    guard let earlierLength, earlierLength != length, wantedDigest == nil,
      !policy.acceptUnverifiedLength
    else { return nil }
    return TransferError(
      .unverifiedLength,
      "the server now gives no length, and sent \(length) bytes of a file that had \(earlierLength) before",
      remedy: .acceptUnverifiedLength)
  }
}

/// Row 20 and its kin: the rest, where it can be asked for and asking has not been in vain.
private func rest(_ state: TransferState, progress: Bool, row: Int) -> TableDecision<BodyEnding> {
  if state.attempts.changes >= Attempts.maximumChanges {
    return failure(
      row, .sourceChanged,
      "the body ended early, and the source has changed too often to be resumed")
  }
  if state.attempts.wholeOnly {
    return failure(
      row, .range, "the body ended early, and the server cannot be asked for the rest of it")
  }
  guard let checkpoint = state.checkpoint, checkpoint.isResumable else {
    return failure(row, .interrupted, "the body ended early and cannot be resumed now")
  }
  if !progress, state.attempts.zeroProgress + 1 >= Attempts.maximumZeroProgress {
    return TableDecision(row, .restart)
  }
  return TableDecision(row, .askForRest)
}

private func shortRow(_ framing: Framing) -> Int {
  framing == .broken ? 24 : 20
}

/// What it means that a file's digest is `found`, and not the wanted one.
///
/// What came whole in one answer is what the source has, and asking again changes nothing. What was put
/// together from several answers, what only the digest could prove whole, and what the server itself
/// states otherwise is fetched once more; the same digest again is the source's.
func decideMismatch(_ state: TransferState, found: ExpectedDigest) -> BodyEnding {
  let attempts = state.attempts
  let isOfJob = state.policy.digest != nil
  let isCertain = isOfJob && !attempts.spliced && !attempts.isDoubtful
  if !isCertain, attempts.mismatch == nil { return .restart }
  let wanted = state.wantedDigest?.hexadecimal ?? ""
  let fact = "the file's \(found.algorithm.rawValue) is \(found.hexadecimal)"
  guard isCertain || attempts.mismatch == found else {
    return .fail(
      TransferError(
        .sourceChanged,
        "\(fact), it was another one a moment ago, and should be \(wanted): the bytes differ each time"
      ))
  }
  return .fail(
    TransferError(
      .digest,
      isOfJob
        ? "\(fact), and not \(wanted) as demanded; compare both with what the source publishes"
        : "\(fact), twice, and the server says that it is \(wanted)",
      remedy: isOfJob ? nil : .digest))
}

private func failure(
  _ row: Int, _ errorClass: TransferError.Class, _ message: String
) -> TableDecision<BodyEnding> {
  TableDecision(row, .fail(TransferError(errorClass, message)))
}
