/// The attempts that a download has already made. They make sure that Haul's checks never repeat without end: after a limited
/// number of checks, Haul downloads the whole file or fails.
///
/// Most counters only grow, and most flags are never cleared. A new body or progress resets the others, such as `mode` and
/// `zeroProgress`. The end of an outage resets `askedWhole` once. The counters that only grow and the file's length limit how
/// often these resets can happen.
///
/// Row numbers are those of the decision table; see `decide`.
struct Attempts: Sendable, Hashable {
  /// Haul stops resuming after the source has changed this many times.
  static let maximumChanges = 3
  /// Haul stops resuming after this many range responses in a row without a new byte.
  static let maximumZeroProgress = 3

  /// Haul gives up a part after this many responses in a row that contradict its record.
  static let maximumContradictions = 3

  /// The part of the file that the next request asks for.
  enum Mode: Sendable, Hashable {
    /// The next request asks for the rest of the file with If-Range, if some bytes are durable. Any other mode may follow.
    case resume
    /// The next request asks for the rest of the file without If-Range. The response must repeat the validator. `restart` may
    /// follow.
    case plainRange
    /// The next request asks for one byte, to learn the complete length and the validator. `resume`, `plainRange` or `restart`
    /// may follow.
    case probe
    /// The next request asks for the whole file and keeps the part file until the response comes. `resume` follows once the new
    /// body begins.
    case whole
    /// The next request asks for the whole file. `resume` follows once the new body begins.
    case restart
  }

  /// Whether ranges fail because the server has problems, and not because it refuses ranges. If the server answers a request
  /// for the whole file, it works again, and Haul requests the range once more.
  enum Outage: Sendable, Hashable {
    /// Fewer than three range requests have failed because of problems of the server. `suspected` may follow.
    case none
    /// Three range requests have failed because of problems of the server, so Haul requests the whole file. `over` may follow.
    case suspected
    /// The server works again, and Haul has requested the range once more. If this request fails too, Haul concludes that the
    /// server refuses ranges.
    case over
  }

  /// The part of the file that the next request asks for.
  var mode = Mode.resume
  /// The number of times that the source has changed, as in the checkpoint.
  var changes = 0
  /// The number of consecutive range responses without a new byte.
  var zeroProgress = 0
  /// Whether a Range without If-Range was sent in response to row 7 or 10.
  var askedPlainRange = false
  /// Whether a request without Range was sent in response to row 12 or 27.
  var askedWhole = false
  /// Whether ranges fail because the server has problems (row 27 of the decision table).
  var outage = Outage.none
  /// The number of consecutive responses that contradicted the record (row 11).
  var contradictions = 0
  /// Whether a repeated response differed from the part's bytes. If so, Haul compares no further whole response with the part.
  var differed = false
  /// Whether a probe was sent in response to row 15.
  var probed = false
  /// Whether each further request uses a new connection, because the server has answered 421.
  var askedFresh = false
  /// Whether row 18 made Haul start at the original URL once more.
  var askedOriginal = false
  /// Whether Haul downloads the file a second time to compare both bodies, because the first had no known length (row 23).
  var secondDownload = false
  /// Whether Haul no longer sends a Range.
  var wholeOnly = false
  /// Whether the part file holds bytes of more than one response.
  var spliced = false
  /// Whether the end of the last body did not prove that it is complete (rows 21 and 23), so that its digest must prove it.
  var isDoubtful = false
  /// The digest of the first whole file if it was not the wanted one; the second download is then in progress. Otherwise nil.
  var mismatch: ExpectedDigest?
  /// The number of redirects followed since the original URL.
  var redirects = 0

  /// Creates the counters of a download that starts, or that continues from `checkpoint`.
  ///
  /// `rangeUnsafe`: whether the host is known to answer ranges wrongly.
  init(checkpoint: Checkpoint?, rangeUnsafe: Bool) {
    changes = checkpoint?.changes ?? 0
    spliced = checkpoint != nil
    wholeOnly = rangeUnsafe || changes >= Self.maximumChanges
  }

  /// Raises `changes` to at least `earlier`, the number that earlier attempts counted. These attempts may have left no
  /// checkpoint.
  mutating func restore(changes earlier: Int) {
    changes = max(changes, earlier)
    if changes >= Self.maximumChanges { wholeOnly = true }
  }

  /// Updates the counters after a response's head.
  mutating func note(_ action: Action) {
    switch action {
    case .accept:
      spliced = true
      contradictions = 0
    case .wholeBody(let new, let resumable):
      beginBody(resumable: resumable)
      // A body that states its length needs no comparison with a first download.
      if new.completeLength != nil { secondDownload = false }
    case .compare(_, _, let resumable):
      beginBody(resumable: resumable)
      secondDownload = false
    // The whole body comes in one response.
    case .unsizedTrial: spliced = false
    case .changedUseBody:
      noteChange()
      beginBody(resumable: true)
    case .changedRestart:
      noteChange()
      mode = .restart
    case .restart, .startOver:
      giveUpRanges()
    case .oncePlainRange:
      askedPlainRange = true
      mode = .plainRange
    case .onceWhole:
      askedWhole = true
      mode = .whole
    case .askAgain:
      contradictions += 1
    case .probe:
      probed = true
      mode = .probe
    case .askForRest:
      mode = askedPlainRange ? .plainRange : .resume
      if outage == .suspected { (outage, askedWhole) = (.over, false) }
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

  /// Updates the counters at a body's end. `progress` says whether the body had a new byte.
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

  /// Records that a range has failed because the server had problems, and that Haul requests the whole file.
  mutating func noteOutage() {
    if outage == .none { outage = .suspected }
  }

  /// Records that a whole response was compared with the part and differs.
  mutating func noteDifference() {
    differed = true
    note(.onceWhole)
  }

  private mutating func beginBody(resumable: Bool) {
    mode = .resume
    zeroProgress = 0
    spliced = false
    // Haul asked without a range only because the server had refused one.
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
