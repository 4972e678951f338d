import HaulSystem
import Synchronization

extension TransferRequest {
  /// Returns the algorithms of all digests that the file needs; `expected` is the digest to check, or nil for no check.
  func digests(checking expected: ExpectedDigest?) -> [DigestAlgorithm] {
    var algorithms = expected.map { [$0.algorithm] } ?? []
    if recordsDigest, !algorithms.contains(.sha256) { algorithms.append(.sha256) }
    return algorithms
  }
}

/// Proves that a file is complete: by a digest, or by two equal downloads.
extension PartTransfer {
  /// Checks length and digest. Returns nil if the file must be downloaded again after a mismatch.
  func verify() async -> TransferOutcome? {
    let (body, known, wanted) = shared.withLock { ($0.body, $0.length, $0.state.wantedDigest) }
    guard let writer = body?.writer, let length = known ?? body?.record?.completeLength else {
      return .failed(TransferError(.protocol, "there is no file to verify"))
    }
    if let error = shared.withLock({ $0.state.policy.refusal(ofLength: length) }) {
      return .failed(error)
    }
    do {
      let part = try await writer.part()
      if let wanted {
        let found = try await digest(wanted.algorithm, length, by: writer)
        if found != wanted {
          if let error = shared.withLock({ $0.refutedTrialError() }) { return .failed(error) }
          if endComparison() { return nil }
          let ending = mismatched(found)
          if case .fail(let error) = ending { return .failed(error) }
          return nil
        }
      }
      if order.recordsDigest, wanted?.algorithm != .sha256 {
        _ = try await digest(.sha256, length, by: writer)
      }
      return .complete(part: part, length: length)
    } catch {
      return outcome(of: error)
    }
  }

  /// Records that the last body has the digest `found` instead of the wanted one, and returns how to continue.
  private func mismatched(_ found: ExpectedDigest) -> BodyEnding {
    shared.withLock { shared in
      let ending = shared.state.mismatched(found: found)
      // Bytes that the job's digest refutes cannot be resumed.
      if order.digest != nil { shared.body?.record = nil }
      // A digest refutes the body on trial, and not the earlier part.
      if case .end? = shared.trial?.kind { shared.giveUpTrial() }
      return ending
    }
  }

  /// Returns the digest of the whole file in `writer`, and adds it to the report. A stop ends the computation.
  private func digest(
    _ algorithm: DigestAlgorithm, _ length: Int64, by writer: FileWriter
  ) async throws(TransferError) -> ExpectedDigest {
    let bytes = try await writer.digest(algorithm, length: length) {
      !self.shared.withLock { $0.isEnded }
    }
    let digest = ExpectedDigest(algorithm, bytes: bytes)
    shared.withLock { $0.report.digest = digest }
    return digest
  }

  /// Computes the digest of a file on disk, which may take minutes. A stop ends the computation.
  private func readBack(
    _ part: PartFile, _ algorithm: DigestAlgorithm, length: Int64
  ) async throws(TransferError) -> [UInt8] {
    try await io.run { () throws(TransferError) in
      try part.digest(algorithm, length: length) { !self.shared.withLock { $0.isEnded } }
    }
  }

  private func outcome(of error: any Error) -> TransferOutcome {
    switch error {
    case FileWriter.Failure.file(let error): .failed(error)
    case let error as TransferError: error.errorClass == .cancelled ? .stopped : .failed(error)
    default: .failed(TransferError(.io, "\(error)"))
    }
  }

  /// Sets a complete part's time to the source's, if the job asks for that and the time is known. Returns the error, or nil.
  func applyRemoteTime(to part: PartFile) async -> TransferError? {
    guard order.takesRemoteTime else { return nil }
    let modified = shared.withLock { shared in
      shared.report.isUndated = shared.modified == nil
      return shared.modified
    }
    guard let modified else { return nil }
    do throws(TransferError) {
      try await io.run { () throws(TransferError) in try part.setModified(modified) }
      return nil
    } catch {
      return error
    }
  }

  // MARK: - Row 23: two equal downloads

  /// Whether Haul is downloading the file a second time to compare both downloads. It does so if nothing else proves that the
  /// first one is complete (row 23 of the decision table).
  package var isSecond: Bool { shared.withLock { $0.first != nil } }

  /// Keeps a first download with its length and digest, to compare a second download with it.
  func rememberFirst() async -> Turn {
    guard let body = shared.withLock({ $0.body }), let writer = body.writer else { return .again }
    do {
      let part = try await writer.part()
      let digest = try await readBack(part, .sha256, length: body.position)
      shared.withLock { $0.first = (part, body.position, digest) }
      return .again
    } catch {
      return .end(outcome(of: error))
    }
  }

  /// Completes the transfer with the first download if the second download equals it; otherwise fails the transfer.
  func compareWithFirst() -> Turn {
    let (first, body) = shared.withLock { ($0.first, $0.body) }
    guard let first, case .compare(let context)? = body?.use, body?.position == first.length,
      context.finish() == first.digest
    else {
      return .end(
        .failed(
          TransferError(
            .unverifiedLength, "the server sent no length, and two downloads of the file differ",
            remedy: .acceptUnverifiedLength)))
    }
    shared.withLock { $0.report.digest = ExpectedDigest(.sha256, bytes: first.digest) }
    return .end(.complete(part: first.part, length: first.length))
  }
}
