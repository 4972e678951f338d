import HaulSystem
import Synchronization

/// A body from byte 0 that might not be the wanted file. Keeps the old part to restore it in that case.
struct PartTrial: Sendable {
  /// How Haul decides whether the body is the wanted file.
  enum Kind: Sendable, Equatable {
    /// The digest that the job requires decides whether the body is the file, because the body may be an error page.
    case judgement
    /// The response states no length, so the length of the body decides when the body has ended. If the body is less than half
    /// as long as the bytes that Haul has saved, and at least 16 KiB shorter, Haul remembers the response as this suspect page.
    case end(SuspectPage)
    /// A comparison of the body with the part file decides. `isSame` is true if the validator has not changed. Haul then keeps
    /// new bytes even if the body ends early.
    case comparison(isSame: Bool)
    /// The number of received bytes decides. The associated value is the number of durable bytes of the old part file. The body
    /// replaces the old part file once the body has more bytes than that. If the body breaks off earlier, Haul does not
    /// continue it.
    case length(Int64)
  }

  let kind: Kind
  /// The error if the trial fails, with the beginning of the response; nil for kinds that make their own error.
  var preview: ResponsePreview?
  /// The earlier body, which is restored if this one fails; nil if there was none.
  var body: PartBody?
  let partName: String?
  let modified: Int64?
  let resumedAt: Int64
}

extension PartTransfer.Shared {
  /// Keeps the current part, so that it can be restored if the next body fails.
  mutating func setAside(for kind: PartTrial.Kind, _ preview: ResponsePreview? = nil) {
    trial = PartTrial(
      kind: kind, preview: preview, body: body, partName: partName, modified: modified,
      resumedAt: report.resumedAt)
  }

  /// Restores the earlier part after a body that failed.
  private mutating func putBack(_ trial: PartTrial) {
    if partName != trial.partName { report.leftover += [partName].compactMap(\.self) }
    body = trial.body
    state.checkpoint = body?.record
    state.stated = body?.record?.digest
    partName = trial.partName
    modified = trial.modified
    report.resumedAt = trial.resumedAt
    report.source = state.present
    report.digest = nil
  }

  /// Ends the trial, and restores the earlier part.
  mutating func giveUpTrial() {
    guard let trial else { return }
    self.trial = nil
    putBack(trial)
  }

  /// Remembers a response that may be an error page, in the record of the file that it would replace.
  mutating func remember(_ page: SuspectPage) {
    state.remember(page)
    guard body?.record == nil, trial?.body?.record != nil else {
      return change { $0.suspect = page }
    }
    trial?.body?.record?.suspect = page
    isRecordNew = true
  }

  /// Returns the error for a body without a stated length that is much shorter than the file, and remembers the response.
  /// Returns nil for any other body.
  fileprivate mutating func shortBodyError() -> TransferError? {
    guard let trial, case .end(let page) = trial.kind, let length = body?.position,
      state.knownFile?.isMuchLonger(than: length) == true
    else { return nil }
    remember(page)
    return trial.preview?.error
  }

  /// Returns the error for a body on trial that does not have the wanted digest; nil if the error of the digest check is
  /// enough.
  mutating func refutedTrialError() -> TransferError? {
    if case .judgement? = trial?.kind { return trial?.preview?.error }
    return shortBodyError()
  }

  /// Returns whether `bytes` is more than the number of bytes in the kept part; true if no part is kept beside the current
  /// body.
  func isWorthSaving(_ bytes: Int64) -> Bool {
    guard case .length(let kept)? = trial?.kind else { return true }
    return bytes > kept
  }

  /// Gives up the kept part after `record` was saved, if this record belongs to the current part, which has more bytes.
  mutating func giveUpBeside(after record: Checkpoint) {
    guard let trial, case .length = trial.kind, record.part == partName else { return }
    report.leftover += [trial.partName].compactMap(\.self)
    self.trial = nil
  }
}

/// Bodies on trial (rows 10 and 12 of the decision table).
extension PartTransfer {
  /// Starts a body on trial from byte 0, in a separate part file. No checkpoint names its bytes during the trial.
  func beginTrial(
    of new: Representation, by kind: PartTrial.Kind, _ preview: ResponsePreview,
    _ shared: inout Shared
  ) {
    shared.giveUpTrial()
    shared.setAside(for: kind, preview)
    let (_, writer) = openPart(new, &shared)
    shared.modified = new.modified
    shared.length = nil
    shared.report.resumedAt = 0
    shared.body = PartBody(
      .write(writer), record: nil, length: new.completeLength, generation: shared.generation)
  }

  /// Starts a body from byte 0 that is compared with the part and then continues it. The part stays unchanged during the
  /// comparison.
  func beginComparison(with new: Representation, isSame: Bool, _ shared: inout Shared) {
    shared.first = nil
    if case .end? = shared.trial?.kind { shared.giveUpTrial() }
    guard let old = shared.body, var record = old.record, let part = old.writer?.openFile else {
      return begin(new, &shared)
    }
    shared.setAside(for: .comparison(isSame: isSame))
    record.digest = shared.state.stated
    // The whole file comes again.
    shared.report.resumedAt = 0
    let writer = FileWriter(
      part, durable: record.durable, digests: order.digests(checking: shared.state.wantedDigest),
      pool: io, whenReady: { [weak self] in self?.shared.withLock { $0.handle }?.resume() })
    shared.length = nil
    shared.body = PartBody(
      .write(writer), record: isSame ? record : nil, length: new.completeLength,
      generation: old.generation, compareUntil: record.durable.prefixEnd)
  }

  /// Ends a comparison after a different byte or digest, so that Haul requests the whole file again. Returns false if there is
  /// no comparison.
  func endComparison() -> Bool {
    let ruling = shared.withLock { shared -> TableDecision<Action>? in
      guard case .comparison? = shared.trial?.kind else { return nil }
      shared.giveUpTrial()
      return shared.state.wholeDiffered()
    }
    guard let ruling, let row = ruling.row else { return false }
    observe(row, ruling.verdict.word)
    return true
  }

  /// Keeps the old part file while a new body arrives that Haul could not resume. Returns false if no part file is worth
  /// keeping.
  func keepBeside(_ new: Representation, _ shared: inout Shared) -> Bool {
    if case .length? = shared.trial?.kind {
      shared.report.leftover += [shared.partName].compactMap(\.self)
      return true
    }
    let canGoOn =
      new.completeLength != nil && !shared.state.attempts.wholeOnly
      && (new.validator != nil || shared.state.policy.digest != nil)
    guard !canGoOn, shared.trial == nil, let record = shared.body?.record,
      record.validator != nil, !record.durable.isEmpty, !record.isFromElsewhere
    else { return false }
    shared.setAside(for: .length(record.durable.count))
    return true
  }

  /// Returns the error if a body on trial that ended with `ending` and `framing` is not the file. Nil if the digest decides, or
  /// if no body is on trial.
  func trialError(after ending: BodyEnding, _ framing: Framing) -> TransferError? {
    let (trial, policy) = shared.withLock { ($0.trial, $0.state.policy) }
    guard let trial else { return nil }
    switch (trial.kind, ending) {
    case (.comparison, .verify), (.comparison, .dropExcessAndVerify), (.comparison, .fail),
      (.length, _):
      return nil
    case (.comparison, _):
      return Self.comparisonError(after: framing)
    // If the job has a digest, the digest decides.
    case (.end, .verify), (.end, .secondDownload):
      return policy.digest == nil ? shared.withLock { $0.shortBodyError() } : nil
    // A much shorter response explains the failure better than a missing length.
    case (.end, .fail(let error)) where error.errorClass == .unverifiedLength:
      return shared.withLock { $0.shortBodyError() }
    // The body broke off, or something else is wrong with it.
    case (.end, _): return nil
    case (.judgement, .verify), (.judgement, .dropExcessAndVerify): return nil
    case (.judgement, _): return trial.preview?.error
    }
  }

  /// Returns the error of a comparison whose response was not complete and cannot be continued.
  static func comparisonError(after framing: Framing) -> TransferError {
    let end = framing == .excess ? "has more bytes than it announced" : "ended early"
    return TransferError(
      .interrupted,
      "the response \(end), and without an ETag or Last-Modified Haul cannot prove that the file is unchanged"
    )
  }

  /// Ends the trial: gives up the old part file if the new body was the file, otherwise the new body's part file.
  func endTrial(with outcome: TransferOutcome) {
    shared.withLock { shared in
      guard let trial = shared.trial else { return }
      let isComplete = if case .complete = outcome { true } else { false }
      switch trial.kind {
      case .comparison(let isSame):
        if !isComplete, !isSame { shared.giveUpTrial() }
      case .judgement where isComplete, .end where isComplete:
        shared.report.changes += trial.body == nil ? 0 : 1
        shared.report.leftover += [trial.partName].compactMap(\.self)
      case .length(let kept)
      where isComplete
        || shared.body.map { $0.record?.validator != nil && $0.position > kept } == true:
        shared.report.leftover += [trial.partName].compactMap(\.self)
      case .judgement, .end, .length: shared.giveUpTrial()
      }
      shared.trial = nil
    }
  }
}
