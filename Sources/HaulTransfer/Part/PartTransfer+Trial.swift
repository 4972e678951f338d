import Synchronization

/// A body that may be an error page, while the job's digest or its length is still to judge it; and what it must not cost.
struct PartTrial: Sendable {
  /// Says why it is not taken for the file unless the digest matches.
  var preview: ResponsePreview
  /// What was there before, and is there again after a body that failed.
  let body: PartBody?
  let partName: String?
  let modified: Int64?
  let resumedAt: Int64
}

/// Bodies on trial (row 12).
extension PartTransfer {
  /// Starts such a body from 0 in a part file of its own. Nothing of it is saved before the digest has matched.
  func beginTrial(
    of new: Representation, _ preview: ResponsePreview, _ shared: inout Shared
  ) {
    shared.trial = PartTrial(
      preview: preview, body: shared.body, partName: shared.partName, modified: shared.modified,
      resumedAt: shared.report.resumedAt)
    let (_, writer) = openPart(new, &shared)
    shared.modified = new.modified
    shared.length = nil
    shared.report.resumedAt = 0
    shared.body = PartBody(
      .write(writer), record: nil, length: new.completeLength, generation: shared.generation)
  }

  /// Why a body on trial that ended like this is not the file; nil where the digest has the last word, or none is on trial.
  func trialError(after ending: BodyEnding) -> TransferError? {
    let (trial, policy, known) = shared.withLock {
      ($0.trial, $0.state.policy, $0.state.knownFile)
    }
    guard let trial else { return nil }
    // Only its length was in doubt.
    if policy.digest == nil {
      guard case .verify(let length) = ending, known?.isMuchLonger(than: length) == true else {
        return nil
      }
      return trial.preview.error
    }
    switch ending {
    case .verify, .dropExcessAndVerify: return nil
    case .askForRest, .restart, .secondDownload, .compareWithFirst, .fail:
      return trial.preview.error
    }
  }

  /// Gives up the old part file after a body that was the file, and the body's own after any other.
  func endTrial(with outcome: TransferOutcome) {
    shared.withLock { shared in
      guard let trial = shared.trial else { return }
      shared.trial = nil
      if case .complete = outcome {
        shared.report.leftover += [trial.partName].compactMap(\.self)
        shared.report.changes += trial.body == nil ? 0 : 1
        return
      }
      shared.report.leftover += [shared.partName].compactMap(\.self)
      shared.body = trial.body
      shared.partName = trial.partName
      shared.modified = trial.modified
      shared.report.resumedAt = trial.resumedAt
      shared.report.source = shared.state.present
      shared.report.digest = nil
    }
  }
}
