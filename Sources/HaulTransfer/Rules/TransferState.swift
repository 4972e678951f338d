/// The kind of a request. The decision about its response depends on it.
enum RequestKind: Sendable, Hashable {
  /// The request asks for the whole file, without Range.
  case whole
  /// The request asks for the whole file, unless the source still has the file that `TransferState.present` records.
  case ifChanged
  /// The request asks for the bytes of `range`. The start of the range lies in the durable bytes, and `fresh` is the first
  /// missing byte.
  case part(range: Range<Int64>, fresh: Int64, ifRange: Bool)
  /// The request asks for one byte, with `Range: bytes=0-0` and without a condition.
  case probe

  /// Whether a Range was sent.
  var isRange: Bool {
    switch self {
    case .whole, .ifChanged: false
    case .part, .probe: true
    }
  }
}

/// The next thing to do for a download.
enum Step: Sendable, Equatable {
  /// Send a request to the original URL, with these fields in addition to the job's own.
  case request(fields: [ResponseHead.Field], asked: RequestKind)
  /// Every byte is durable. Check digest and length, then publish.
  case verify
}

/// All facts that the decisions depend on.
struct TransferState: Sendable, Hashable {
  /// The requirements of the job, and what it tolerates.
  struct Policy: Sendable, Hashable {
    /// The maximum length in bytes; nil for no limit. A longer file fails.
    var maximumLength: Int64?
    /// The length in bytes that the job demands; nil for any.
    var expectedLength: Int64?
    /// The media type that the job demands; nil for any.
    var expectedType: ExpectedType?
    /// The digest that the job demands; nil for none.
    var digest: ExpectedDigest?
    /// Whether a body without length counts as complete when the connection closes.
    var acceptUnverifiedLength = false
    /// Whether the file comes over HTTP. Only HTTP servers send error pages instead of files, or fail because of a range.
    var isHTTP = true
    /// Whether the request has a body. If so, a 201 may carry the file.
    var sendsBody = false
    /// The maximum number of consecutive redirects.
    var maximumRedirects = 10

    /// Returns the error if a file of this length cannot be the file that the job requires; nil if it may be.
    func refusal(ofLength length: Int64?) -> TransferError? {
      guard let length, let expectedLength, length != expectedLength else { return nil }
      return TransferError(
        .length, "the file has \(length) bytes, but \(expectedLength) were expected")
    }
  }

  /// The recorded durable progress; nil if there is none. An old checkpoint stays until a new body begins.
  var checkpoint: Checkpoint?
  /// What the source stated about a finished file, which Haul downloads again only if it has changed; nil if there is no such
  /// file.
  var present: SourceRecord?
  /// The digest that the server states for the current representation; nil if it states none.
  var stated: ExpectedDigest?
  /// The length that an earlier response stated; nil if none did. A later response may state none.
  var earlierLength: Int64?
  /// The validator of the response with ``earlierLength``; nil if it had none.
  var earlierValidator: Validator?
  /// The length to require of the current response if it states none. It may carry the same version as an earlier response or
  /// the finished file, whose length is known. Nil if any length may be right.
  var requiredLength: Int64?
  /// The attempts that the download has already made.
  var attempts: Attempts
  /// The requirements of the job.
  var policy: Policy

  /// Creates the state of a download that starts, or that continues from `checkpoint`.
  init(checkpoint: Checkpoint?, rangeUnsafe: Bool = false, policy: Policy = Policy()) {
    self.checkpoint = checkpoint
    attempts = Attempts(checkpoint: checkpoint, rangeUnsafe: rangeUnsafe)
    self.policy = policy
    stated = checkpoint?.digest
    earlierLength = checkpoint.flatMap { $0.isFromElsewhere ? nil : $0.completeLength }
    earlierValidator = checkpoint?.validator
  }

  /// The required digest of the file. The job's digest takes precedence over the server's, because the user knows better. Nil
  /// if there is neither.
  var wantedDigest: ExpectedDigest? { policy.digest ?? stated }

  /// Returns the next step, from the durable bytes and the attempts so far.
  ///
  /// The request asks for identity coding, since the offsets of a body that the server compresses on the fly are not stable.
  /// The range has an end and never starts at the complete length, because such a range would contain no bytes.
  mutating func next() -> Step {
    attempts.redirects = 0
    var fields = [ResponseHead.Field("Accept-Encoding", "identity")]
    guard let checkpoint, attempts.mode != .restart, attempts.mode != .whole else {
      return .request(fields: fields, asked: .whole)
    }
    if attempts.mode == .probe {
      fields.append(.init("Range", "bytes=0-0"))
      return .request(fields: fields, asked: .probe)
    }
    guard let gap = checkpoint.durable.missing(within: checkpoint.completeLength).first else {
      return .verify
    }
    guard !attempts.wholeOnly, checkpoint.isResumable, let validator = checkpoint.validator,
      validator != .jobDigest || policy.digest != nil
    else {
      return .request(fields: fields, asked: .whole)
    }
    let range = max(0, gap.lowerBound - checkpoint.overlap)..<gap.upperBound
    fields.append(.init("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
    let condition = attempts.mode == .plainRange ? nil : validator.ifRangeValue
    let ifRange = condition != nil
    if let condition { fields.append(.init("If-Range", condition)) }
    return .request(
      fields: fields, asked: .part(range: range, fresh: gap.lowerBound, ifRange: ifRange))
  }

  /// Returns the field that makes a request for the whole file conditional; nil for none. Haul sends this field only to the URL
  /// that ``present`` records, and only until it rejects a response or another body begins. `resource` is as in `SourceRecord`.
  func condition(at resource: String?) -> ResponseHead.Field? {
    guard let present, present.resource == resource, checkpoint == nil, attempts.mode == .resume
    else { return nil }
    return present.condition
  }

  /// Judges a response's head with `decide`, and updates the state.
  mutating func answered(_ head: ResponseHead, asked: RequestKind, now: HTTPDate) -> TableDecision<
    Action
  > {
    let ruling = decide(self, asked: asked, head: head, now: now)
    attempts.note(ruling.verdict)
    switch ruling.verdict {
    case .wholeBody(let new, _), .changedUseBody(let new):
      stated = new.digest
      requiredLength = lengthRequired(of: new, head)
      if let length = new.completeLength {
        (earlierLength, earlierValidator) = (length, new.validator)
      }
    case .compare(let new, _, _):
      stated = [stated, new.digest].compactMap(\.self).min { $0.provesMore(than: $1) }
      requiredLength = lengthRequired(of: new, head)
    // Leave `stated` as it is: only the job's digest can judge an answer whose head is already suspect.
    case .suspect(let page, _), .trial(_, let page, _): remember(page)
    case .unsizedTrial(let new, _, _):
      stated = new.digest
      requiredLength = lengthRequired(of: new, head)
    // Keep `present`, because the next answer would still replace a finished file.
    case .startOver: (checkpoint, earlierLength) = (nil, nil)
    case .onceWhole where Self.passing.contains(head.status): attempts.noteOutage()
    case .fail where asked.isRange && TransferState.passing.contains(head.status):
      let count = checkpoint?.refusal.map { $0.status == head.status ? $0.count : 0 } ?? 0
      checkpoint?.refusal = .init(status: head.status, count: count + 1)
    case .accept:
      stated = [stated, head.statedDigest].compactMap(\.self).min { $0.provesMore(than: $1) }
    default: break
    }
    return ruling
  }

  /// Returns the length that a response without a stated length must have; nil if any length may be right. If a gateway's
  /// server dies, the gateway may end a chunked body as if it were complete.
  private func lengthRequired(of new: Representation, _ head: ResponseHead) -> Int64? {
    guard new.completeLength == nil else { return nil }
    guard let earlierLength else {
      return present.flatMap { $0.isProven(by: head) ? $0.length : nil }
    }
    switch earlierValidator?.compared(with: head) {
    case .same, .absent: return earlierLength
    case .different: return nil
    case nil: return new.validator != nil || new.hasWeakValidator ? nil : earlierLength
    }
  }

  /// Remembers a response that may be an error page.
  mutating func remember(_ page: SuspectPage) {
    checkpoint?.suspect = page
    present?.suspect = page
  }

  /// The statuses of temporary errors. If a range request gets one, Haul repeats the request before it gives up the range.
  static let passing: Set<Int> = [408, 425, 500, 502, 504]

  /// Counts a failed request that received no bytes. Returns whether to request the whole file once because the range may be
  /// the cause. The result is true immediately if waiting would change nothing, otherwise after three failures in a row (row
  /// 27).
  mutating func failed(_ error: TransferError, asked: RequestKind) -> Bool {
    guard policy.isHTTP, asked.isRange, !attempts.askedWhole else { return false }
    switch error.errorClass {
    case .protocol, .redirects, .blockedURL, .blockedAddress: break
    case .timeout, .interrupted:
      let count = checkpoint?.refusal.map { $0.status == 0 ? $0.count : 0 } ?? 0
      checkpoint?.refusal = .init(status: 0, count: count + 1)
      if count < 2, attempts.outage != .over { return false }
      attempts.noteOutage()
    default: return false
    }
    attempts.note(.onceWhole)
    return true
  }

  /// Records that the overlap of an accepted range differs from the disk (row 5 of the decision table, found only while the
  /// body arrives).
  mutating func overlapDiffered() -> TableDecision<Action> {
    attempts.note(.changedRestart)
    attempts.differed = true
    return TableDecision(5, .changedRestart)
  }

  /// Records that a whole response differs from the part that it was compared with (row 10 or 12 of the decision table, found
  /// only while the body arrives).
  mutating func wholeDiffered() -> TableDecision<Action> {
    attempts.noteDifference()
    return TableDecision(12, .onceWhole)
  }

  /// Returns whether a whole response with this head can be compared with the part while it arrives. The part must have at
  /// least the first `least` bytes of the file.
  func canCompare(_ new: Representation, _ head: ResponseHead, least: Int64) -> Bool {
    guard let checkpoint, !attempts.differed, attempts.mismatch == nil else {
      return false
    }
    return new.completeLength == checkpoint.completeLength
      && new.contentEncoding == checkpoint.contentEncoding
      && checkpoint.durable.prefixEnd >= least && stated.map(head.contradicts) != true
  }

  /// Judges a body's end with `decideEnd`, and updates the state. `checkpoint` must be up to date.
  mutating func ended(_ body: Body) -> TableDecision<BodyEnding> {
    let ruling = decideEnd(self, body: body)
    attempts.note(ruling.verdict, progress: body.progress)
    attempts.isDoubtful = ruling.row == 21 || ruling.row == 23
    return ruling
  }

  /// Judges a wrong digest with `decideMismatch`, and updates the state.
  mutating func mismatched(found: ExpectedDigest) -> BodyEnding {
    let ending = decideMismatch(self, found: found)
    attempts.note(ending, progress: false)
    attempts.mismatch = found
    // Do not compare later answers with bytes that the job's digest refuted. The digest will judge those answers too.
    if policy.digest != nil { checkpoint = nil }
    return ending
  }
}
