import Synchronization

/// What makes a file complete: a digest, or the same twice.
extension PartTransfer {
  /// Checks the digest. Returns nil where the answer to a mismatch is to download again.
  func verify() async -> TransferOutcome? {
    let (body, known, wanted) = shared.withLock { ($0.body, $0.length, $0.state.wantedDigest) }
    guard let writer = body?.writer, let length = known ?? body?.record?.completeLength else {
      return .failed(TransferError(.protocol, "nothing to verify"))
    }
    do {
      let part = try await writer.part()
      guard let wanted else { return .complete(part: part, length: length) }
      let digest = try await writer.digest(wanted.algorithm, length: length) {
        !self.shared.withLock { $0.isEnded }
      }
      let found = ExpectedDigest(wanted.algorithm, bytes: digest)
      if found == wanted { return .complete(part: part, length: length) }
      if case .fail(let error) = shared.withLock({ $0.state.mismatched(found: found) }) {
        return .failed(error)
      }
      return nil
    } catch {
      return outcome(of: error)
    }
  }

  /// The digest of a file on disk, which may take minutes: a stop ends it.
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

  // MARK: - Row 23: twice the same

  var isSecond: Bool { shared.withLock { $0.first != nil } }

  /// Keeps length and digest of a first download.
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

  /// Completes with the first download where the second equals it.
  func compareWithFirst() -> Turn {
    let (first, body) = shared.withLock { ($0.first, $0.body) }
    guard let first, case .compare(let context)? = body?.use, body?.position == first.length,
      context.finish() == first.digest
    else {
      return .end(
        .failed(
          TransferError(
            .unverifiedLength,
            "the server gives no length and two downloads differ; --accept-unverified-length takes the first"
          )))
    }
    return .end(.complete(part: first.part, length: first.length))
  }
}
