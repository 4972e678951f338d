/// What a request asked for: the frame in which its answer is judged.
enum RequestKind: Sendable, Hashable {
  /// Everything: no Range.
  case whole
  /// Everything, unless the source still has what `TransferState.present` is the record of.
  case ifChanged
  /// The bytes of `range`, whose start lies in what is durable; `fresh` is its first missing byte.
  case part(range: Range<Int64>, fresh: Int64, ifRange: Bool)
  /// `bytes=0-0` without condition.
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
  /// Ask the original URL, with these fields besides the job's own.
  case request(fields: [ResponseHead.Field], asked: RequestKind)
  /// Every byte is durable: check digest and length, then publish.
  case verify
}

/// Everything the decisions rest on.
struct TransferState: Sendable, Hashable {
  /// What the job demands or tolerates.
  struct Policy: Sendable, Hashable {
    /// A longer representation fails; nil for no limit. In bytes.
    var maximumLength: Int64?
    /// The length that the job names, in bytes.
    var expectedLength: Int64?
    /// The media type that the job demands.
    var expectedType: ExpectedType?
    /// The digest that the job demands.
    var digest: ExpectedDigest?
    /// A body without length, ended by the closing of the connection, counts as complete.
    var acceptUnverifiedLength = false
    /// Whether what comes may be an error page, as over HTTP it may.
    var mayBePages = true
    /// Whether a body is sent, to which 201 may answer with the file.
    var sendsBody = false
    /// More redirects in a row fail.
    var maximumRedirects = 10

    /// Why a file of that length is not what the job names; nil where it is, or one of them is not known.
    func refusal(ofLength length: Int64?) -> TransferError? {
      guard let length, let expectedLength, length != expectedLength else { return nil }
      return TransferError(
        .length, "the file has \(length) bytes, and not \(expectedLength) as demanded")
    }
  }

  /// What is durable and recorded. An old one stays until a new body begins.
  var checkpoint: Checkpoint?
  /// The source's validators for a finished file that is downloaded only if it changed; nil if there is none.
  var present: SourceRecord?
  /// The digest that the server states of the representation under way.
  var stated: ExpectedDigest?
  /// The length that an earlier answer stated, where a later one may state none.
  var earlierLength: Int64?
  /// Whether the answer under way has a validator.
  var isValidated = true
  /// What has been tried.
  var attempts: Attempts
  /// What the job demands.
  var policy: Policy

  /// The state of a download that starts or goes on from `checkpoint`.
  init(checkpoint: Checkpoint?, rangeUnsafe: Bool = false, policy: Policy = Policy()) {
    self.checkpoint = checkpoint
    attempts = Attempts(checkpoint: checkpoint, rangeUnsafe: rangeUnsafe)
    self.policy = policy
    stated = checkpoint?.digest
    earlierLength = checkpoint.flatMap { $0.isFromElsewhere ? nil : $0.completeLength }
  }

  /// The required digest of the file. The job's digest takes precedence over the server's: the user knows better.
  var wantedDigest: ExpectedDigest? { policy.digest ?? stated }

  /// The next step, from what is durable and what has been tried.
  ///
  /// Identity is asked for, since a range of a body encoded on the fly means nothing. The range is
  /// closed and never starts at the complete length: to ask for nothing is not a question.
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

  /// What makes a request for everything conditional, at the URL that ``present`` speaks of, until an answer could not be
  /// believed or another body has begun. `resource` is as in `SourceRecord`.
  func condition(at resource: String?) -> ResponseHead.Field? {
    guard let present, present.resource == resource, checkpoint == nil, attempts.mode == .resume
    else { return nil }
    return present.condition
  }

  /// Judges an answer's head by `decide` and counts what follows.
  mutating func answered(_ head: ResponseHead, asked: RequestKind, now: HTTPDate) -> TableDecision<
    Action
  > {
    let ruling = decide(self, asked: asked, head: head, now: now)
    attempts.note(ruling.verdict)
    switch ruling.verdict {
    case .wholeBody(let new, _), .changedUseBody(let new):
      stated = new.digest
      isValidated = new.validator != nil || new.hasWeakValidator
      earlierLength = new.completeLength ?? earlierLength
    case .compare(let new, _, _):
      stated = [stated, new.digest].compactMap(\.self).min { $0.provesMore(than: $1) }
      isValidated = true
    case .suspect(let page, _), .trial(_, let page, _):
      checkpoint?.suspect = page
      present?.suspect = page
      // Only the job's digest can tell of what is suspect from its head on.
      if case .trial(let new, _, _) = ruling.verdict, policy.digest == nil {
        stated = new.digest
        isValidated = new.validator != nil || new.hasWeakValidator
      }
    case .startOver: checkpoint = nil
    case .fail where asked.isRange && TransferState.passing.contains(head.status):
      let count = checkpoint?.refusal.map { $0.status == head.status ? $0.count : 0 } ?? 0
      checkpoint?.refusal = .init(status: head.status, count: count + 1)
    case .accept:
      stated = [stated, head.statedDigest].compactMap(\.self).min { $0.provesMore(than: $1) }
    default: break
    }
    return ruling
  }

  /// Statuses that may pass by themselves; a range that gets one is asked for again before it is given up.
  private static let passing: Set<Int> = [408, 425, 500, 502, 504]

  /// Counts a failure of a request without any bytes. Returns whether everything is to be asked for once, because the range
  /// may be why: at once where waiting changes nothing, otherwise after three in a row (row 27).
  mutating func failed(_ error: TransferError, asked: RequestKind) -> Bool {
    guard asked.isRange, !attempts.askedWhole else { return false }
    switch error.errorClass {
    case .protocol, .redirects, .blockedURL, .blockedAddress: break
    case .timeout, .interrupted:
      let count = checkpoint?.refusal.map { $0.status == 0 ? $0.count : 0 } ?? 0
      checkpoint?.refusal = .init(status: 0, count: count + 1)
      if count < 2 { return false }
    default: return false
    }
    attempts.note(.onceWhole)
    return true
  }

  /// The overlap of an accepted range differs from the disk: row 5, reached late.
  mutating func overlapDiffered() -> TableDecision<Action> {
    attempts.note(.changedRestart)
    attempts.differed = true
    return TableDecision(5, .changedRestart)
  }

  /// A whole answer that was compared with the part differs from it: row 10 or 12, reached late.
  mutating func wholeDiffered() -> TableDecision<Action> {
    attempts.noteDifference()
    return TableDecision(12, .onceWhole)
  }

  /// Whether a whole answer of this head can be compared with the part while it arrives. `least`: bytes that are to be there for
  /// it.
  func canCompare(_ new: Representation, _ head: ResponseHead, least: Int64) -> Bool {
    guard let checkpoint, !attempts.differed, !attempts.judgesAlone, attempts.mismatch == nil else {
      return false
    }
    return new.completeLength == checkpoint.completeLength
      && new.contentEncoding == checkpoint.contentEncoding
      && checkpoint.durable.prefixEnd >= least && stated.map(head.contradicts) != true
  }

  /// Judges a body's end by `decideEnd` and counts what follows. `checkpoint` is up to date by
  /// then.
  mutating func ended(_ body: Body) -> TableDecision<BodyEnding> {
    let ruling = decideEnd(self, body: body)
    attempts.note(ruling.verdict, progress: body.progress)
    attempts.isDoubtful = ruling.row == 21 || ruling.row == 23
    return ruling
  }

  /// Judges a digest that is not the wanted one by `decideMismatch` and counts what follows.
  mutating func mismatched(found: ExpectedDigest) -> BodyEnding {
    let ending = decideMismatch(self, found: found)
    attempts.note(ending, progress: false)
    attempts.mismatch = found
    // What the job's digest refutes is no measure for what comes next, which it will judge too.
    if policy.digest != nil { checkpoint = nil }
    return ending
  }
}
