/// What has already been tried for one download, so that strictness ends in one whole download and
/// never goes round in circles.
///
/// Counters only grow and flags are only set, except `mode` and `zeroProgress`, which
/// start again with a new body or with progress; both are bounded by the others and by the length.
struct Attempts: Sendable, Hashable {
  /// Haul stops resuming after the source has changed this many times.
  static let maximumChanges = 3
  /// Haul stops resuming after this many range answers in a row without a new byte.
  static let maximumZeroProgress = 3

  /// Haul gives up a part after this many answers in a row that contradict its record.
  static let maximumContradictions = 3

  /// What to ask for next.
  enum Mode: Sendable, Hashable {
    /// The rest with If-Range, where there is something to resume. To: any other.
    case resume
    /// The rest without If-Range; the answer must repeat the validator. To: `restart`.
    case plainRange
    /// One byte, to learn the complete length and validator. To: `resume`, `plainRange`, `restart`.
    case probe
    /// Everything, in one answer, with the part file kept until then. To: `resume`, once the new body begins.
    case whole
    /// Everything, in one answer. To: `resume`, once the new body begins.
    case restart
  }

  /// What to ask for next.
  var mode = Mode.resume
  /// Times that the source was found replaced; kept in the checkpoint.
  var changes = 0
  /// Consecutive range answers without a new byte.
  var zeroProgress = 0
  /// Row 7 or 10 has been answered by a Range without If-Range.
  var askedPlainRange = false
  /// Row 12 or 27 has been answered by a request without Range.
  var askedWhole = false
  /// Answers in a row that contradicted the record (row 11).
  var contradictions = 0
  /// The next whole answer is compared with nothing: the record was contradicted too often.
  var judgesAlone = false
  /// Bytes that came again were not those of the part: no whole answer is compared with it any more.
  var differed = false
  /// Row 15 has been answered by a probe.
  var probed = false
  /// After a 421, this request and all later ones use a separate connection.
  var askedFresh = false
  /// Row 18 has been answered by starting at the original URL once more.
  var askedOriginal = false
  /// Row 23: a first body of unknown length is there, this one is to equal it.
  var secondDownload = false
  /// No Range is sent any more.
  var wholeOnly = false
  /// The part file holds bytes of more than one answer.
  var spliced = false
  /// The last body's end did not prove it whole (rows 21 and 23): its digest has to.
  var isDoubtful = false
  /// The digest of a first whole, which was not the wanted one; this is the second.
  var mismatch: ExpectedDigest?
  /// Redirects followed since the original URL.
  var redirects = 0

  /// The counters of a download that starts or goes on from `checkpoint`.
  ///
  /// `rangeUnsafe`: the host is known to answer ranges wrongly.
  init(checkpoint: Checkpoint?, rangeUnsafe: Bool) {
    changes = checkpoint?.changes ?? 0
    spliced = checkpoint != nil
    wholeOnly = rangeUnsafe || changes >= Self.maximumChanges
  }

  /// Takes in what earlier attempts without a checkpoint had counted.
  mutating func restore(changes earlier: Int) {
    changes = max(changes, earlier)
    if changes >= Self.maximumChanges { wholeOnly = true }
  }

  /// Counts what follows from an answer's head.
  mutating func note(_ action: Action) {
    switch action {
    case .accept:
      spliced = true
      contradictions = 0
    case .wholeBody(let new, let resumable):
      beginBody(resumable: resumable)
      // It states its length, and needs no first download to equal.
      if new.completeLength != nil { secondDownload = false }
    case .compare(_, _, let resumable):
      beginBody(resumable: resumable)
    case .changedUseBody:
      noteChange()
      beginBody(resumable: true)
    case .changedRestart:
      noteChange()
      mode = .restart
    case .restart:
      giveUpRanges()
    case .oncePlainRange:
      askedPlainRange = true
      mode = .plainRange
    case .onceWhole:
      askedWhole = true
      mode = .whole
    case .askAgain:
      contradictions += 1
    case .startOver:
      judgesAlone = true
      giveUpRanges()
    case .probe:
      probed = true
      mode = .probe
    case .askForRest:
      mode = askedPlainRange ? .plainRange : .resume
    case .redirect:
      redirects += 1
    case .freshConnection:
      askedFresh = true
    case .fromOriginal:
      askedOriginal = true
      redirects = 0
    case .verify, .unchanged, .suspect, .trial, .fail:
      break
    }
  }

  /// Updates the counters at a body's end. `progress`: the body had a new byte.
  mutating func note(_ ending: BodyEnding, progress: Bool) {
    switch ending {
    case .askForRest:
      zeroProgress = progress ? 0 : zeroProgress + 1
    case .restart:
      giveUpRanges()
    case .secondDownload:
      secondDownload = true
      mode = .restart
    case .verify, .dropExcessAndVerify, .compareWithFirst, .fail:
      break
    }
  }

  /// A whole answer was compared with the part and differs.
  mutating func noteDifference() {
    differed = true
    note(.onceWhole)
  }

  private mutating func beginBody(resumable: Bool) {
    mode = .resume
    zeroProgress = 0
    spliced = false
    // Whoever was asked without a range had refused one.
    if !resumable || askedWhole { wholeOnly = true }
  }

  private mutating func noteChange() {
    changes += 1
    if changes >= Self.maximumChanges { wholeOnly = true }
  }

  private mutating func giveUpRanges() {
    wholeOnly = true
    mode = .restart
  }
}
