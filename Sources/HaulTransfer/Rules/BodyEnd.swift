/// How a body ended, as libcurl reports it.
enum Framing: Sendable, Hashable, CaseIterable {
  /// The body has the announced length, or ended with the last chunk or END_STREAM.
  case complete
  /// The connection was closed, and the response announced no length.
  case closed
  /// The TLS connection was closed without a close_notify, and the response announced no length.
  case cut
  /// The connection broke, a chunk or frame was malformed, or the last chunk is missing.
  case broken
  /// More bytes came than were announced. The excess bytes were not written.
  case excess
}

/// A body that has ended and whose bytes are all written.
struct Body: Sendable, Hashable {
  /// The part of the representation that the accepted response carries.
  enum Kind: Sendable, Hashable {
    /// The whole representation from byte 0, with its length in bytes if known.
    case whole(length: Int64?)
    /// A range of the representation that ends before byte `end`. `allThere` is true if the part file is complete with these
    /// bytes.
    case part(end: Int64, allThere: Bool)
  }

  var kind: Kind
  var framing: Framing
  /// The offset after the last byte that was kept.
  var end: Int64
  /// Whether Haul kept a byte of the body that was not durable before.
  var progress: Bool
}

/// What to do at a body's end.
enum BodyEnding: Sendable, Equatable {
  /// All `length` bytes have arrived. Check the digest, if the job requires one, and publish.
  case verify(length: Int64)
  /// All `length` bytes have arrived, but the server sent more bytes. Close the connection, and let the digest decide.
  case dropExcessAndVerify(length: Int64)
  /// The received bytes are valid. Request the missing bytes.
  case askForRest
  /// Request the whole file, and never request a range again.
  case restart
  /// Nothing proves that the body is complete. Download the file once more, to compare length and digest.
  case secondDownload
  /// The second download has ended. If the length and the digest are the same as for the first download, the file is complete.
  /// Otherwise the transfer fails as `unverified_length`.
  case compareWithFirst
  /// The transfer fails with this error. The part file stays.
  case fail(TransferError)
}

/// Decides what the end of a body means (rows 20 to 24 of the decision table).
func decideEnd(_ state: TransferState, body: Body) -> TableDecision<BodyEnding> {
  switch (body.kind, body.framing) {
  // Row 21: an answer that contradicts itself proves nothing. Only a digest proves that the file is complete.
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
  // Row 2: the answer ended early, as it had announced. Rows 20, 22, 24: it broke off.
  case (.part(let end, _), _):
    return rest(state, progress: body.progress, row: body.end == end ? 2 : shortRow(body.framing))

  case (.whole(let length?), _):
    if body.end == length { return TableDecision(nil, .verify(length: length)) }
    return rest(state, progress: body.progress, row: shortRow(body.framing))

  case (.whole(nil), .complete):
    if let error = state.mismatch(of: body.end, with: state.requiredLength) {
      return TableDecision(23, .fail(error))
    }
    return TableDecision(nil, .verify(length: body.end))
  // Row 22: the last chunk is missing, so the length is unknown.
  case (.whole(nil), .broken):
    return failure(22, .interrupted, "the response ended early, and its length is not known")
  case (.whole(nil), .closed):
    return decideClosed(state, body: body)
  // Row 23: an attacker on the network may have ended the body (RFC 9112 §9.8). Only a digest proves that it is complete.
  case (.whole(nil), .cut):
    if state.wantedDigest != nil { return TableDecision(23, .verify(length: body.end)) }
    return failure(
      23, .interrupted, "the TLS connection broke, and the length of the file is not known")
  }
}

/// Decides row 23 of the decision table: a body without a length, which ended when the peer closed the connection. A complete
/// body and a broken one then look the same.
private func decideClosed(_ state: TransferState, body: Body) -> TableDecision<BodyEnding> {
  if let expected = state.policy.expectedLength {
    if body.end == expected { return TableDecision(23, .verify(length: expected)) }
    return failure(
      23, .interrupted, "the server sent \(body.end) bytes, but \(expected) were expected")
  }
  if state.wantedDigest != nil || state.policy.acceptUnverifiedLength {
    return TableDecision(23, .verify(length: body.end))
  }
  let length = state.requiredLength ?? state.earlierLength
  if let error = state.mismatch(of: body.end, with: length) {
    return TableDecision(23, .fail(error))
  }
  return TableDecision(23, state.attempts.secondDownload ? .compareWithFirst : .secondDownload)
}

extension TransferState {
  /// Returns the error if a body without a stated length has `length` bytes, but the file had `known` bytes. Nil if the lengths
  /// are equal, or if a digest or the job's policy decides.
  fileprivate func mismatch(of length: Int64, with known: Int64?) -> TransferError? {
    guard let known, known != length, wantedDigest == nil, !policy.acceptUnverifiedLength
    else { return nil }
    return TransferError(
      .unverifiedLength,
      "the server sent \(length) bytes without announcing a length, but the file had \(known) bytes before",
      remedy: .acceptUnverifiedLength)
  }
}

/// Decides row 20 of the decision table and similar rows: asks for the rest if that is possible and earlier requests for it
/// made progress.
private func rest(_ state: TransferState, progress: Bool, row: Int) -> TableDecision<BodyEnding> {
  if state.attempts.changes >= Attempts.maximumChanges {
    return failure(
      row, .sourceChanged,
      "the response ended early, and the file on the server has changed \(state.attempts.changes) times, so Haul does not resume the download"
    )
  }
  if state.attempts.wholeOnly {
    return failure(
      row, .range,
      "the response ended early, and the server does not support requests for the rest of the file"
    )
  }
  guard let checkpoint = state.checkpoint, checkpoint.isResumable else {
    return failure(
      row, .interrupted, "the response ended early, and Haul cannot resume this download")
  }
  if !progress, state.attempts.zeroProgress + 1 >= Attempts.maximumZeroProgress {
    return TableDecision(row, .restart)
  }
  return TableDecision(row, .askForRest)
}

private func shortRow(_ framing: Framing) -> Int {
  framing == .broken ? 24 : 20
}

/// Decides what to do if the digest of the file is `found` instead of the wanted one.
///
/// If the file came whole in one response, it is the source's file, and a new download would change nothing. Haul downloads
/// once more if the file was put together from several responses, if only the digest could prove that it is complete, or if the
/// server stated the wanted digest. If the second download has the same digest, it is the source's file.
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
        "\(fact), but \(wanted) was expected; the previous download had another digest"
      ))
  }
  return .fail(
    TransferError(
      .digest,
      isOfJob
        ? "\(fact), but \(wanted) was expected; compare both with the digest that the source publishes"
        : "\(fact) in two downloads, but the server states \(wanted)",
      remedy: isOfJob ? nil : .digest))
}

private func failure(
  _ row: Int, _ errorClass: TransferError.Class, _ message: String
) -> TableDecision<BodyEnding> {
  TableDecision(row, .fail(TransferError(errorClass, message)))
}
