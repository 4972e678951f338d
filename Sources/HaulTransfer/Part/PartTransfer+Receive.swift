import HaulSystem
import Synchronization

/// The engine's side of a transfer: judges heads and passes bodies on, without blocking.
extension PartTransfer {
  /// Carries one exchange's response to its transfer.
  final class Sink: BodySink {
    let transfer: PartTransfer
    let asked: RequestKind
    /// The key of the requested URL, in the form of ``SourceRecord/resource``; nil for the job's own URL.
    let resource: String?
    /// The URL that was requested.
    let url: WebURL

    init(_ transfer: PartTransfer, asked: RequestKind, resource: String?, url: WebURL) {
      self.transfer = transfer
      self.asked = asked
      self.resource = resource
      self.url = url
    }

    func head(_ head: ResponseHead) -> HeadVerdict {
      transfer.received(head, by: self)
    }

    func body(_ buffer: GatherBuffer) -> BodyVerdict { transfer.received(buffer) }
  }

  /// Judges the head, and prepares everything for the body before its first byte is accepted.
  private func received(_ head: ResponseHead, by sink: Sink) -> HeadVerdict {
    let ruling = judge(head, by: sink)
    let verdict = shared.withLock { shared -> HeadVerdict in
      shared.ruling = ruling.verdict
      if ruling.verdict.takesBody { shared.receivingSince = shared.receivingSince ?? .now }
      switch ruling.verdict {
      case .accept(let start, let compareUntil, let end):
        shared.body?.begin(start: start, compareUntil: compareUntil, end: end)
        shared.body?.record?.digest = shared.state.stated
        if shared.body?.record?.refusal?.status != 0 { shared.body?.record?.refusal = nil }
        shared.body?.writer?.catchUp()
        shared.noteRest(head, resource: sink.resource)
        return .accept
      case .wholeBody(let representation, _), .changedUseBody(let representation):
        if case .changedUseBody = ruling.verdict { shared.report.changes += 1 }
        begin(representation, &shared)
        shared.note(representation, head, resource: sink.resource)
        return .accept
      case .compare(let representation, let isSame, _):
        beginComparison(with: representation, isSame: isSame, &shared)
        shared.note(representation, head, resource: sink.resource)
        return .accept
      case .suspect(let page, let error):
        shared.preview = ResponsePreview(error)
        shared.remember(page)
        shared.report.source = shared.state.present
        return .accept
      case .trial(let representation, let page, let error):
        shared.remember(page)
        beginTrial(of: representation, by: .judgement, ResponsePreview(error), &shared)
        shared.note(representation, head, resource: sink.resource)
        return .accept
      case .unsizedTrial(let representation, let page, let error):
        beginTrial(of: representation, by: .end(page), ResponsePreview(error), &shared)
        shared.note(representation, head, resource: sink.resource)
        return .accept
      // There is no body, so the connection stays usable.
      case .unchanged: return .accept
      case .fail:
        let refusal = shared.state.checkpoint?.refusal
        if refusal != shared.body?.record?.refusal { shared.change { $0.refusal = refusal } }
      case .changedRestart:
        shared.report.changes += 1
      case .restart(markRangeUnsafe: true):
        shared.report.isRangeUnsafe = true
      default:
        break
      }
      return .reject
    }
    if let row = ruling.row { observe(row, ruling.verdict.word) }
    guard verdict == .accept, ruling.verdict.takesBody, let check = order.checkTarget else {
      return verdict
    }
    io.submit { [weak self] in self?.checkTarget(check) }
    return .acceptLater
  }

  /// Resumes the exchange if the target is usable; otherwise cancels it.
  private func checkTarget(_ check: () throws(TransferError) -> Void) {
    do throws(TransferError) {
      try check()
      shared.withLock { $0.handle }?.resume()
    } catch {
      let handle = shared.withLock { shared in
        shared.refusal = error
        return shared.handle
      }
      handle?.cancel()
    }
  }

  /// Returns the decision table's verdict on the head. If the table accepts the body, the owner can still refuse it with an
  /// error, and the verdict on the response to a HEAD is `unchanged`.
  private func judge(_ head: ResponseHead, by sink: Sink) -> TableDecision<Action> {
    let ruling = shared.withLock { shared in
      shared.report.status = head.status
      shared.asked = nil
      return shared.state.answered(head, asked: sink.asked, now: HTTPDate.now)
    }
    // Do not hold the lock here, because the owner may call back.
    guard ruling.verdict.takesBody else { return ruling }
    if let error = order.onResponse?(head, sink.url) { return TableDecision(nil, .fail(error)) }
    return order.method == .head ? TableDecision(nil, .unchanged) : ruling
  }

  /// Starts a body from byte 0. It goes into a separate part file, or only into a digest if it is the second of two downloads.
  func begin(_ new: Representation, _ shared: inout Shared) {
    // A second download that states its length needs no comparison.
    if !shared.state.attempts.secondDownload { shared.first = nil }
    // The first download used the same digest algorithm, so libcrypto has it.
    if shared.state.attempts.secondDownload, let context = try? DigestContext(.sha256) {
      shared.body = PartBody(
        .compare(context), record: nil, length: new.completeLength,
        generation: shared.generation)
      return
    }
    // The new body ends the trial of the last one. Restore the part from before the trial, because the new body may replace it.
    if case .end? = shared.trial?.kind { shared.giveUpTrial() }
    if !keepBeside(new, &shared), let old = shared.partName { shared.report.leftover.append(old) }
    let (name, writer) = openPart(new, &shared)
    var record = new.completeLength.map {
      Checkpoint(
        completeLength: $0,
        validator: new.validator ?? (shared.state.policy.digest == nil ? nil : .jobDigest),
        contentEncoding: new.contentEncoding,
        mediaType: new.mediaType, digest: new.digest, modified: new.modified, durable: ByteRanges(),
        part: name, inode: 0,
        changes: shared.state.attempts.changes)
    }
    record?.suggestedName = new.suggestedName
    shared.state.checkpoint = record
    shared.modified = new.modified
    shared.length = nil
    shared.report.resumedAt = 0
    shared.body = PartBody(
      .write(writer), record: record, length: new.completeLength, generation: shared.generation)
  }

  /// Returns the name and the writer of a new part file for a body from byte 0. The writer creates the file when the first
  /// bytes arrive.
  func openPart(
    _ new: Representation, _ shared: inout Shared
  ) -> (name: String, writer: FileWriter) {
    let name = partName(shared.generation)
    shared.partName = name
    shared.generation += 1
    let (makePart, length) = (order.makePart, new.completeLength)
    let writer = FileWriter(
      opening: { () throws(TransferError) in try makePart(name, length) }, durable: ByteRanges(),
      digests: order.digests(checking: shared.state.wantedDigest), pool: io,
      whenReady: { [weak self] in self?.shared.withLock { $0.handle }?.resume() })
    return (name, writer)
  }

  /// Returns the name of the part file number `generation` of this transfer. Only the first part has the plain name; it may
  /// come from an earlier attempt.
  private func partName(_ generation: Int) -> String {
    let number = generation + (order.resuming == nil ? 0 : 1)
    return number == 0 ? order.partName : "\(order.partName).\(number)"
  }

  /// Passes a buffer to the part file's writer, to the digest of a second download, or to the preview of a possible error page.
  private func received(_ buffer: GatherBuffer) -> BodyVerdict {
    let (verdict, isDue) = shared.withLock { shared -> (BodyVerdict, Bool) in
      if shared.preview != nil {
        let isFull = unsafe buffer.withBytes { unsafe shared.preview?.take($0) ?? true }
        return (isFull ? .stop : .more, false)
      }
      // Change the body in place, since a copy of it is costly.
      guard !shared.isLost, shared.body != nil,
        let (offset, wanted) = shared.body?.take(buffer.count)
      else { return (.stop, false) }
      if shared.trial?.preview != nil {
        _ = unsafe buffer.withBytes { unsafe shared.trial?.preview?.take($0) }
      }
      shared.report.fetched += Int64(buffer.count)
      shared.receivedAt = .now
      if !shared.savesRegularly, shared.body?.isAsAnnounced == false {
        shared.savesRegularly = true
        keepSaving()
      }
      if let limit = shared.state.policy.maximumLength,
        shared.body.map({ $0.position > limit }) == true
      {
        return (.stop, false)
      }
      let hasExcess = shared.body?.hasExcess == true
      switch shared.body?.use {
      case nil: return (.stop, false)
      case .compare(let context):
        unsafe buffer.withBytes {
          unsafe context.update(UnsafeRawBufferPointer(rebasing: $0.prefix(wanted)))
        }
        return (hasExcess ? .stop : .more, false)
      case .write(let writer):
        let pressure = writer.write(
          buffer, at: offset, compareUntil: shared.body?.compareUntil ?? 0, count: wanted)
        if pressure == .failed || hasExcess { return (.stop, false) }
        return (pressure == .behind ? .pause : .more, shared.isDue(after: order.checkpointBytes))
      }
    }
    if isDue { Task { await checkpoint() } }
    return verdict
  }
}

extension PartTransfer.Shared {
  /// Whether `bytes` bytes have come since the last save, so that a checkpoint is due.
  fileprivate func isDue(after bytes: Int64) -> Bool {
    body?.record?.validator != nil && saving == nil && report.fetched - savedFetched >= bytes
  }

  /// Adds what a response with the rest of a file states about the source to the report, unless the report has such statements
  /// already.
  fileprivate mutating func noteRest(_ head: ResponseHead, resource: String?) {
    guard report.source == nil, let record = state.checkpoint else { return }
    report.source = SourceRecord(
      validator: record.validator, mediaType: record.mediaType, head: head, resource: resource)
  }

  /// Adds what a response whose body starts at byte 0 states about the source to the report.
  fileprivate mutating func note(
    _ new: Representation, _ head: ResponseHead, resource: String?
  ) {
    report.suggestedName = new.suggestedName
    report.source = SourceRecord(
      validator: new.validator, mediaType: new.mediaType, head: head, resource: resource)
  }
}

extension Action {
  /// Whether the transfer receives the body as the file or a part of it.
  fileprivate var takesBody: Bool {
    switch self {
    case .accept, .wholeBody, .compare, .changedUseBody, .trial, .unsizedTrial: true
    default: false
    }
  }

  /// A word for logs.
  var word: String {
    switch self {
    case .accept: "accept"
    case .wholeBody: "whole"
    case .compare: "compare"
    case .changedUseBody, .changedRestart: "changed"
    case .restart: "restart"
    case .oncePlainRange, .onceWhole, .askAgain, .freshConnection: "once_more"
    case .startOver: "restart"
    case .suspect: "suspect"
    case .trial, .unsizedTrial: "trial"
    case .probe: "probe"
    case .askForRest: "rest"
    case .verify: "verify"
    case .unchanged: "unchanged"
    case .redirect: "redirect"
    case .fromOriginal: "from_original"
    case .fail: "fail"
    }
  }
}

extension BodyEnding {
  /// A word for logs.
  var word: String {
    switch self {
    case .verify, .dropExcessAndVerify: "verify"
    case .askForRest: "rest"
    case .restart: "restart"
    case .secondDownload: "second_download"
    case .compareWithFirst: "compare"
    case .fail: "fail"
    }
  }
}
