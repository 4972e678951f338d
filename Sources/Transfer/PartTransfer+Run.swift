import Synchronization

/// The run: ask, take what comes, look at the end, ask again.
extension PartTransfer {
  /// Runs to the end. Nothing is thrown: see ``TransferOutcome``. Cancelling the task is the same as ``stop()``.
  ///
  /// On `.complete` the bytes are written and not yet synced. On any other outcome what was durable has been
  /// saved, as far as there is something to resume.
  package func run() async -> TransferOutcome {
    let outcome = await withTaskCancellationHandler {
      await attempt()
    } onCancel: {
      stop()
    }
    switch outcome {
    case .complete, .lost: break
    case .failed: await finalCheckpoint()
    case .stopped: await Self.within(Self.stopTime) { await self.finalCheckpoint() }
    }
    return shared.withLock { $0.isLost } ? .lost : outcome
  }

  private func attempt() async -> TransferOutcome {
    var breaks = 0
    while true {
      let (step, isEnded) = shared.withLock { shared in
        (shared.state.next(), shared.isStopped || shared.isLost)
      }
      if isEnded { return .stopped }
      guard case .request(let fields, let asked) = step else {
        if let outcome = await verify() { return outcome }
        continue
      }
      switch await exchange(fields: fields, asked: asked) {
      case .again: continue
      case .end(let outcome): return outcome
      case .broken:
        breaks += 1
        if breaks >= Self.maximumBreaks {
          return .failed(
            TransferError(
              .interrupted, "the connection broke \(breaks) times; the rest is left for later"))
        }
      case .verify:
        if let outcome = await verify() { return outcome }
      }
    }
  }

  /// What follows from one question and its answer.
  private enum Turn {
    case again
    /// The body ended early; the rest may be asked for.
    case broken
    case verify
    case end(TransferOutcome)
  }

  /// Asks once, following redirects, and judges how the answer ended.
  private func exchange(fields: [ResponseHead.Field], asked: Asked) async -> Turn {
    var url = order.url
    while true {
      let handle = ExchangeHandle()
      let isEnded = shared.withLock { shared -> Bool in
        shared.handle = handle
        shared.ruling = nil
        if shared.isPaused { handle.pause() }
        return shared.isStopped || shared.isLost
      }
      if isEnded { return .end(.stopped) }
      let timer = Task {
        while true {
          try await Task.sleep(for: Self.checkpointTime)
          await self.checkpoint()
        }
      }
      let result = await engine.perform(
        ExchangeRequest(url: url.text, fields: fields),
        sink: Sink(self, asked: asked, hostKey: url.hostKey), handle: handle)
      timer.cancel()
      let ruling = shared.withLock { shared in
        shared.handle = nil
        return shared.ruling
      }
      if case .redirect(let location)? = ruling, result.outcome == .rejected {
        switch follow(location, from: url) {
        case .success(let next): url = next
        case .failure(let error): return .end(.failed(error))
        }
        continue
      }
      return await judge(result, ruling, hostKey: url.hostKey)
    }
  }

  /// The next hop: scheme policy again, and no credentials.
  private func follow(_ location: String, from url: WebURL) -> Result<WebURL, TransferError> {
    do throws(TransferError) {
      let next = try url.resolving(location: location)
      guard !next.hasCredentials else {
        throw TransferError(.blockedURL, "the redirect to \(next.redacted) carries credentials")
      }
      return .success(next)
    } catch {
      var error = error
      error.host = url.hostKey
      return .failure(error)
    }
  }

  /// What an exchange's outcome means.
  private func judge(_ result: ExchangeResult, _ ruling: Action?, hostKey: String) async -> Turn {
    func failed(_ error: TransferError) -> Turn {
      var error = error
      error.host = error.host ?? hostKey
      error.status = error.status ?? result.head?.status
      return .end(.failed(error))
    }
    switch result.outcome {
    case .failed(let error): return failed(error)
    case .cancelled: return .end(.stopped)
    case .rejected:
      switch ruling {
      case .fail(let error)?: return failed(error)
      case .verify?: return .verify
      default: return .again
      }
    case .stalled(let why):
      if let error = await settleBody() { return error }
      return failed(TransferError(.timeout, why))
    case .complete: return await bodyEnded(.complete, failed)
    case .closed: return await bodyEnded(.closed, failed)
    case .truncated: return await bodyEnded(.broken, failed)
    case .stopped: return await bodyEnded(.complete, failed)
    }
  }

  /// Waits until all of the body is written and counts it as there. Returns a turn where that failed.
  private func settleBody() async -> Turn? {
    guard let body = shared.withLock({ $0.body }), let writer = body.writer else { return nil }
    do throws(FileWriter.Failure) {
      let written = try await writer.flush()
      let part = try await writer.part()
      shared.withLock { shared in
        shared.body?.record?.durable = written
        shared.body?.record?.inode = part.inode
        if let record = shared.body?.record { shared.state.checkpoint = record }
      }
      return nil
    } catch {
      if case .file(let error) = error { return .end(.failed(error)) }
      shared.withLock { shared in
        _ = shared.state.overlapDiffered()
        shared.report.changes += 1
      }
      observe(5, "changed")
      return .again
    }
  }

  private func bodyEnded(
    _ framing: Framing, _ failed: (TransferError) -> Turn
  ) async -> Turn {
    if let turn = await settleBody() { return turn }
    let (limit, position) = shared.withLock { shared in
      (shared.state.policy.maximumLength, shared.body?.position ?? 0)
    }
    if let limit, position > limit {
      return failed(
        TransferError(.tooLarge, "the file is larger than the \(limit) bytes that are allowed"))
    }
    let ruling: Ruling<Ending>? = shared.withLock { shared in
      guard let body = shared.body else { return nil }
      return shared.state.ended(body.ended(framing))
    }
    guard let ruling else { return failed(TransferError(.protocol, "a body came without a head")) }
    switch ruling.verdict {
    case .verify(let length), .dropExcessAndVerify(let length):
      shared.withLock { $0.length = length }
      return isSecond ? compareWithFirst(failed) : .verify
    case .askForRest: return .broken
    case .restart: return .again
    case .secondDownload: return await rememberFirst(failed)
    case .compareWithFirst: return compareWithFirst(failed)
    case .fail(let error): return failed(error)
    }
  }

  private var isSecond: Bool { shared.withLock { $0.first != nil } }

  // MARK: - Row 23: twice the same

  private func rememberFirst(_ failed: (TransferError) -> Turn) async -> Turn {
    guard let body = shared.withLock({ $0.body }), let writer = body.writer else { return .again }
    do {
      let part = try await writer.part()
      let length = body.position
      let digest = try await io.run { () throws(TransferError) in
        try part.digest(.sha256, length: length)
      }
      shared.withLock { $0.first = (part, length, digest) }
      return .again
    } catch {
      return failed(error as? TransferError ?? TransferError(.io, "\(error)"))
    }
  }

  private func compareWithFirst(_ failed: (TransferError) -> Turn) -> Turn {
    let (first, body) = shared.withLock { ($0.first, $0.body) }
    guard let first, case .compare(let context)? = body?.use, body?.position == first.length,
      context.finish() == first.digest
    else {
      return failed(
        TransferError(
          .unverifiedLength,
          "the server gives no length and two downloads differ; --accept-unverified-length takes the first"
        ))
    }
    return .end(.complete(part: first.part, length: first.length))
  }

  // MARK: - The end

  /// Checks the digest. Returns nil where the answer to a mismatch is to download again.
  private func verify() async -> TransferOutcome? {
    let (body, known) = shared.withLock { ($0.body, $0.length) }
    guard let writer = body?.writer, let length = known ?? body?.record?.completeLength else {
      return .failed(TransferError(.protocol, "nothing to verify"))
    }
    do {
      let part = try await writer.part()
      guard let expected = order.digest else { return .complete(part: part, length: length) }
      var found = await writer.digest(length: length)
      if found == nil {
        found = try await io.run { () throws(TransferError) in
          try part.digest(expected.algorithm, length: length)
        }
      }
      if found == expected.bytes { return .complete(part: part, length: length) }
    } catch FileWriter.Failure.file(let error) {
      return .failed(error)
    } catch {
      return .failed(error as? TransferError ?? TransferError(.io, "\(error)"))
    }
    if case .fail(let error) = shared.withLock({ $0.state.mismatched() }) { return .failed(error) }
    return nil
  }

  /// Runs `body`, and returns when it has ended or `time` is over; it may then still end later.
  private static func within(
    _ time: Duration, _ body: @escaping @Sendable () async -> Void
  ) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let once = Once(continuation)
      Task {
        await body()
        once.resume()
      }
      Task {
        try? await Task.sleep(for: time)
        once.resume()
      }
    }
  }
}

/// A continuation that several may resume; the first does.
private final class Once: Sendable {
  private let continuation: Mutex<CheckedContinuation<Void, Never>?>

  init(_ continuation: CheckedContinuation<Void, Never>) {
    self.continuation = Mutex(continuation)
  }

  func resume() {
    continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }?.resume()
  }
}
