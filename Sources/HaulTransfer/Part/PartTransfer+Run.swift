import HaulSystem
import Synchronization

/// The run of a transfer: sends requests, and judges how each response ends.
extension PartTransfer {
  /// Runs the transfer to its end. This function does not throw: see ``TransferOutcome``. Cancelling the task has the effect of
  /// ``stop()``.
  ///
  /// On `.complete`, the bytes are written but not yet synced. On any other outcome the durable bytes have been saved, if the
  /// transfer can be resumed. After the return, the transfer does not call `save` again. A call of `save` may still be in
  /// progress if a stop did not wait for that call.
  package func run() async -> TransferOutcome {
    var outcome = await withTaskCancellationHandler {
      await attempt()
    } onCancel: {
      stop()
    }
    stopSaving()
    endTrial(with: outcome)
    switch outcome {
    case .complete(let part, _):
      await endCheckpoints()
      if let error = await applyRemoteTime(to: part) { outcome = .failed(error) }
    case .unchanged: break
    case .failed: await finalCheckpoint()
    case .stopped, .lost: await checkpointAtStop()
    }
    let lostWriter = shared.withLock { shared -> FileWriter?? in
      shared.isOver = true
      return shared.isLost ? .some(shared.body?.writer) : nil
    }
    guard let lostWriter else { return outcome }
    // Wait for the write in progress. No other write follows.
    _ = try? await lostWriter?.flush()
    return .lost
  }

  private func attempt() async -> TransferOutcome {
    var breaks = 0
    var fetchedAtBreak: Int64 = 0
    while true {
      let (step, isEnded) = shared.withLock { ($0.state.next(), $0.isEnded) }
      if isEnded { return .stopped }
      guard case .request(let fields, let asked) = step else {
        if let outcome = await verify() { return outcome }
        continue
      }
      let before = report.fetched
      let turn = doubtRange(await exchange(fields: fields, asked: asked), asked: asked, before)
      switch turn {
      case .again where order.body != nil, .broken where order.body != nil:
        return .failed(
          TransferError(
            .interrupted,
            "the response to the \(order.method.rawValue) ended early, and Haul sends a request body only once"
          ))
      case .again: continue
      case .end(let outcome): return outcome
      case .broken:
        let fetched = report.fetched
        breaks = fetched - fetchedAtBreak < order.checkpointBytes ? breaks + 1 : 1
        fetchedAtBreak = fetched
        if breaks >= Self.maximumBreaks {
          return .failed(
            TransferError(
              .interrupted,
              "the connection broke \(breaks) times; the next attempt resumes the download"))
        }
      case .verify:
        if let outcome = await verify() { return outcome }
      }
    }
  }

  /// What to do after one request and its response.
  enum Turn {
    case again
    /// The body ended early; a request for the rest may follow.
    case broken
    case verify
    case end(TransferOutcome)
  }

  /// Returns `turn`, or `.again` if a range request failed without a new byte and Haul must request the whole file once.
  private func doubtRange(_ turn: Turn, asked: RequestKind, _ before: Int64) -> Turn {
    shared.withLock { shared in
      // Only new bytes prove that the server serves the range.
      if shared.report.fetched > before, shared.body?.hasProgress != false {
        shared.state.checkpoint?.refusal = nil
        shared.body?.record?.refusal = nil
        return turn
      }
      guard case .end(.failed(let error)) = turn else { return turn }
      let isDoubted = shared.state.failed(error, asked: asked)
      let refusal = shared.state.checkpoint?.refusal
      if refusal != shared.body?.record?.refusal { shared.change { $0.refusal = refusal } }
      return isDoubted ? .again : turn
    }
  }

  /// Sends one request, follows redirects, and judges how the response ended.
  private func exchange(fields: [ResponseHead.Field], asked: RequestKind) async -> Turn {
    var url = order.url
    var body = order.body
    // Row 25: credentials and the job's own address policy are only for the origin that the job names.
    var isHome = true
    while true {
      let handle = ExchangeHandle()
      let resource = url == order.url ? nil : url.resource
      let (isHeld, isEnded, condition) = shared.withLock {
        shared -> (Bool, Bool, ResponseHead.Field?) in
        if !shared.isHeld { shared.handle = handle }
        shared.ruling = nil
        shared.preview = nil
        return (
          shared.isHeld, shared.isEnded,
          asked == .whole ? shared.state.condition(at: resource) : nil
        )
      }
      if isEnded { return .end(.stopped) }
      if isHeld {
        await untilFree()
        continue
      }
      shared.withLock { $0.asked = .now }
      let question = request(
        to: url, isHome: isHome, condition.map { fields + [$0] } ?? fields, body)
      let result = await engine.perform(
        question,
        sink: Sink(
          self, asked: condition == nil ? asked : .ifChanged, resource: resource, url: url),
        handle: handle)
      let ruling = shared.withLock { shared in
        shared.handle = nil
        shared.asked = nil
        shared.cookies = result.cookies
        return shared.ruling
      }
      note(result, of: question, to: url)
      if wantsDigest(result.head, at: url, isHome: isHome) { continue }
      if await wantsLogin(result, at: url) { continue }
      // A stop may have come while the owner was asked for a login. Then the response does not count.
      if result.outcome == .rejected, shared.withLock({ $0.isEnded }) { return .end(.stopped) }
      if case .redirect(let location)? = ruling, result.outcome == .rejected {
        switch follow(location, from: url, keeps: &body, status: result.head?.status) {
        case .success(let next):
          if let head = result.head, let error = order.onRedirect?(head, url, next) {
            return await judge(result, .fail(error), of: url, isHome: isHome)
          }
          url = next
          isHome = isHome && url.isSameOrigin(as: order.url)
        case .failure(let error): return .end(.failed(error))
        }
        continue
      }
      return await judge(result, ruling, of: url, isHome: isHome)
    }
  }

  /// Stores an exchange's cookies, and reports its metrics.
  private func note(_ result: ExchangeResult, of question: ExchangeRequest, to url: WebURL) {
    engine.configuration.cookieJar?.merge(before: question.cookies, after: result.cookies)
    guard var metrics = result.metrics else { return }
    metrics.url = url.text
    order.onRequest?(metrics)
  }

  /// Returns what to do after an exchange's outcome.
  private func judge(
    _ result: ExchangeResult, _ ruling: Action?, of url: WebURL, isHome: Bool
  ) async -> Turn {
    func failed(_ error: TransferError) -> Turn {
      var error = error
      error.host = error.host ?? url.hostKey
      // The reader of the message only knows the original URL.
      if !isHome, error.errorClass == .blockedAddress {
        error.message = "a redirect leads to \(url.hostKey): \(error.message)"
      }
      if result.head?.status == 401,
        let misfit = engine.configuration.netrc?.misfit(for: url, isHome: isHome)
      {
        error.message += "; \(misfit)"
      }
      error.status = error.status ?? result.head?.status
      error.fields = result.head?.fields ?? []
      if error.body.isEmpty { error.body = result.refusedBody }
      return .end(.failed(error))
    }
    if ruling == .unchanged, result.outcome == .complete { return .end(.unchanged) }
    if let preview = shared.withLock({ $0.preview }), result.outcome != .cancelled {
      return failed(preview.error)
    }
    if let refusal = shared.withLock({ $0.refusal }) { return failed(refusal) }
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
    case .cut: return await bodyEnded(.cut, failed)
    case .truncated: return await bodyEnded(.broken, failed)
    case .stopped: return await bodyEnded(.complete, failed)
    }
  }

  /// Waits until the whole body is written, and records it. Returns a turn if that failed, otherwise nil.
  private func settleBody() async -> Turn? {
    guard let body = shared.withLock({ $0.body }), let writer = body.writer else { return nil }
    do throws(FileWriter.Failure) {
      let written = try await writer.flush()
      let part = try await writer.part()
      shared.withLock { shared in
        shared.body?.record?.advance(to: written)
        shared.body?.record?.inode = part.inode
        if let record = shared.body?.record { shared.state.checkpoint = record }
        if shared.trial?.kind == .comparison(isSame: true) {
          shared.trial = nil
          shared.body?.comesAgain = false
        }
      }
      return nil
    } catch {
      if case .file(let error) = error { return .end(.failed(error)) }
      if endComparison() { return .again }
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
        TransferError(.tooLarge, "the file is larger than \(limit) bytes, which is the maximum"))
    }
    let end: (ruling: TableDecision<BodyEnding>, framing: Framing)? = shared.withLock { shared in
      guard let body = shared.body?.ended(framing) else { return nil }
      return (shared.state.ended(body), body.framing)
    }
    guard let ruling = end?.ruling, let ending = end?.framing else {
      return failed(TransferError(.protocol, "the response has a body but no headers"))
    }
    if let row = ruling.row { observe(row, ruling.verdict.word) }
    if let error = trialError(after: ruling.verdict, ending) { return failed(error) }
    switch ruling.verdict {
    case .verify(let length), .dropExcessAndVerify(let length):
      shared.withLock { $0.length = length }
      return isSecond ? compareWithFirst() : .verify
    // Row 2: a server may send less than Haul requested, any number of times.
    case .askForRest: return ruling.row == 2 ? .again : .broken
    case .restart: return .again
    case .secondDownload: return await rememberFirst()
    case .compareWithFirst: return compareWithFirst()
    case .fail(let error): return failed(error)
    }
  }

  /// Runs `body`, and returns when it has ended or after `time`. In the latter case `body` continues.
  static func within(
    _ time: Duration, _ body: @escaping @Sendable () async -> Void
  ) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let once = OneShot(continuation)
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
