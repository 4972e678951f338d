import HaulSystem

/// An exchange that the engine's multi handle contains now. Used on the engine thread only.
///
/// This class handles libcurl's callbacks, and passes on no C types. Haul's own reasons to end the exchange are kept in
/// `ending`, because libcurl reports all of them as "write error" or "could not connect".
final class RunningExchange {
  let easy: EasyHandle
  let order: PendingExchange
  /// Whether the exchange uses a new connection instead of reusing one.
  let isFresh: Bool
  private let policy: AddressPolicy
  private let buffers: BufferGate
  private let gate: RateGate
  private let sockets: OpenSockets
  let limits: Engine.Configuration
  /// The request for FTP or SFTP; nil for HTTP.
  let file: FileRequest?
  /// The number of body bytes that are still wanted, if libcurl would read more; otherwise nil.
  private var wanted: Int64?
  /// The decoder of a chunked body that libcurl does not recognize as chunked; otherwise nil.
  private(set) var chunks: ChunkDecoder?
  private var parser: HeadParser
  private(set) var parsed: HeadParser.Parsed?
  /// The 401 response that libcurl answers by itself, or nil. It becomes the exchange's response only if libcurl gives up.
  private var challenge: HeadParser.Parsed?
  /// Whether libcurl has sent the request again after ``challenge``.
  private var hasAnswered = false
  /// The body that the sink rejected, or nil if the sink wants the body.
  private var refusedBody: RefusedBody?
  private var buffer: GatherBuffer?
  private var gatheringSince: ContinuousClock.Instant
  private var watch: StallWatch
  private var brakes: Brakes = []
  /// Whether the gate has released the exchange and the exchange has not taken its next piece of the body yet.
  private var hasTurn = false
  private(set) var bytes: Int64 = 0
  private(set) var openedSockets: [Int32] = []
  /// The error number of the last failed attempt to get a socket; 0 if none failed.
  private(set) var socketError: Int32 = 0
  private(set) var connectedTo: String?
  /// The watch for close_notify. Nil unless only the end of a TLS connection shows the end of the body.
  private(set) var tlsEnd: TLSEnd?
  /// The addresses that the policy refused, in the order they were met.
  private(set) var refused: [IPAddress] = []
  /// Haul's own reason to end the exchange; nil if Haul has none.
  private(set) var ending: ExchangeOutcome?

  init(
    _ order: PendingExchange, isFresh: Bool, easy: EasyHandle, buffers: BufferGate, gate: RateGate,
    sockets: OpenSockets, limits: Engine.Configuration, now: ContinuousClock.Instant
  ) {
    self.order = order
    self.isFresh = isFresh
    self.easy = easy
    self.buffers = buffers
    self.gate = gate
    self.sockets = sockets
    self.limits = limits
    policy = order.request.addressPolicy ?? limits.addressPolicy
    file = order.request.isForFile ? FileRequest(order.request.fields) : nil
    parser = order.request.headParser
    gatheringSince = now
    // libcurl limits the time to connect. The time limit for the head begins when the request goes out.
    watch = StallWatch(
      limit: self.limits.connectTimeout + self.limits.responseTimeout, quota: .max, now: now)
  }

  // MARK: - Calls from libcurl

  /// Returns whether the exchange may connect to `address`. If false, libcurl tries the next address.
  func mayConnect(to address: IPAddress?) -> Bool {
    if limits.proxy != nil { return true }
    return isAllowed(address)
  }

  private func isAllowed(_ address: IPAddress?) -> Bool {
    guard let address else { return false }
    if policy.allows(address) { return true }
    if !refused.contains(address) { refused.append(address) }
    return false
  }

  /// Records the socket that was made for an allowed address.
  func opened(_ socket: Int32) {
    openedSockets.append(socket)
    easy.watch.opened(socket)
  }

  /// Records the error number of a failed attempt to get a socket.
  func gotNoSocket(_ error: Int32) { socketError = error }

  /// Checks a ready connection just before the request goes out; `text` is the peer's address.
  ///
  /// - Returns: false if the exchange must end.
  func maySend(to text: String, remotePort: UInt16, localPort: UInt16) -> Bool {
    if limits.proxy == nil, !isAllowed(IPAddress(text)) { return false }
    // An FTP or SFTP server may send something at any time.
    if file == nil {
      sockets.inspect(opened: openedSockets, localPort: localPort, remotePort: remotePort)
    }
    connectedTo = text
    hasAnswered = challenge != nil
    startWatch(limit: limits.responseTimeout, quota: .max)
    return true
  }

  /// Takes a header line. Returns false if the exchange must end.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    // For FTP, these lines are the server's replies, which libcurl handles.
    if file != nil { return true }
    do throws(TransferError) {
      guard let parsed = try unsafe parser.take(Span(_unsafeBytes: line)) else { return true }
      self.parsed = parsed
    } catch {
      ending =
        parsed == nil
        ? .failed(failure(error.errorClass, error.message)) : .truncated(error.message)
      return false
    }
    if parsed?.head.status == 407, limits.proxy != nil {
      ending = .failed(failure(.proxy, CurlEnd.proxyWantsPassword, remedy: .proxyPassword))
      return false
    }
    if order.request.digest != nil, challenge == nil, parsed?.head.asksForDigest == true {
      (challenge, parsed) = (parsed, nil)
      parser = order.request.headParser
      return true
    }
    guard isAccepted() else { return refuse() }
    if parsed?.framing == .untilClose { tlsEnd = TLSEnd(of: easy) }
    if let parsed, parsed.isRaw { frameRaw(parsed.framing) }
    startWatch(limit: limits.stallTime, quota: limits.stallQuota)
    return ending == nil
  }

  /// Makes Haul find the end of the body, since libcurl would read until the connection closes.
  private func frameRaw(_ framing: BodyFraming) {
    switch framing {
    case .length(0): ending = .complete
    case .length(let length): wanted = length
    case .chunked: chunks = ChunkDecoder()
    case .noBody, .stream, .untilClose: break
    }
  }

  /// Passes the head to the sink, and returns whether the sink accepts it, now or later.
  private func isAccepted() -> Bool {
    let verdict = parsed.map { order.sink.head($0.head) } ?? .reject
    if verdict == .acceptLater { brake(.sink, true) }
    if verdict == .reject { ending = .rejected }
    return verdict != .reject
  }

  /// Starts to read a rejected body, if that can keep the connection open.
  ///
  /// - Returns: false if the exchange must end.
  private func refuse() -> Bool {
    guard let body = parsed.flatMap(RefusedBody.init) else { return false }
    ending = nil
    refusedBody = body
    startWatch(limit: RefusedBody.time, quota: .max)
    return true
  }

  /// Makes a head from the known facts about the file, and passes it to the sink.
  ///
  /// - Returns: false if the exchange must end.
  private func receiveFile(_ file: FileRequest, _ facts: FileRequest.Facts) -> Bool {
    (parsed, wanted) = file.head(facts, now: .now)
    guard isAccepted() else { return false }
    if parsed?.framing == .noBody { ending = .complete }
    startWatch(limit: limits.stallTime, quota: limits.stallQuota)
    return ending == nil
  }

  /// Passes on the head before the first bytes of the body, if no header line did: the head that Haul makes for a file (FTP,
  /// SFTP), or the head of a 401 that libcurl has given up on.
  ///
  /// - Returns: false if the exchange must end.
  private func passesLateHead() -> Bool {
    if let file { return receiveFile(file, easy.fileFacts) }
    judgeChallenge()
    return ending == nil
  }

  func receiveBody(_ body: UnsafeRawBufferPointer) -> Receipt {
    guard ending == nil else { return .end }
    guard brakes.isEmpty else { return .pause }
    // libcurl calls this function for every 16 KiB, but only the first bytes can come before the head.
    if parsed == nil, !passesLateHead() { return .end }
    if refusedBody != nil {
      if unsafe refusedBody?.take(body) == true { return .taken }
      ending = .rejected
      return .end
    }
    let piece = unsafe UnsafeRawBufferPointer(
      rebasing: body.prefix(Int(clamping: wanted ?? .max)))
    if let buffer, buffer.room < piece.count { deliver() }
    guard ending == nil else { return .end }
    guard brakes.isEmpty else { return .pause }
    let now = ContinuousClock.now
    guard hasTurn || gate.admits(self, now: now) else {
      brake(.rate, true)
      return .pause
    }
    if buffer == nil {
      buffer = buffers.take(for: self)
      gatheringSince = now
    }
    guard let buffer else {
      brake(.pool, true)
      return .pause
    }
    hasTurn = false
    gate.consume(piece.count, by: self, now: now)
    watch.received(piece.count, now: now)
    unsafe gather(piece, in: buffer)
    if let rest = wanted {
      wanted = rest - Int64(piece.count)
      if wanted == 0 { ending = .complete }
    }
    return ending == nil || ending == .complete ? .taken : .end
  }

  /// Appends the content of a piece to the buffer, which has room for all of it.
  private func gather(_ piece: UnsafeRawBufferPointer, in buffer: GatherBuffer) {
    guard chunks != nil else { return unsafe buffer.append(piece) }
    do throws(ChunkDecoder.Malformed) {
      for range in try unsafe chunks?.take(piece) ?? [] {
        unsafe buffer.append(UnsafeRawBufferPointer(rebasing: piece[range]))
      }
      if chunks?.isDone == true { ending = .complete }
    } catch {
      ending = .truncated("the server sent a malformed chunk")
    }
  }

  // MARK: - Calls from the engine

  /// Applies the wishes of the owner and the sink.
  func attend() {
    let wishes = order.handle.takeWishes()
    if wishes.isCancelled { ending = ending ?? .cancelled }
    if wishes.hasRoom { brake(.sink, false) }
    brake(.owner, wishes.isPaused)
  }

  /// Continues after a buffer became free.
  func attendPool() {
    brake(.pool, false)
  }

  /// Continues after the gate released the exchange. The exchange takes its next piece even if a rate limit is reached again by
  /// then, so that no exchange starves.
  func takeTurn() {
    hasTurn = true
    brake(.rate, false)
  }

  /// Passes on bytes that have waited for 500 ms, and ends a stalled exchange. The engine calls this regularly.
  func tick(now: ContinuousClock.Instant) {
    if buffer != nil, !brakes.contains(.sink), now - gatheringSince >= .milliseconds(500) {
      deliver()
    }
    guard ending == nil, watch.isStalled(now: now) else { return }
    if refusedBody != nil { return ending = .rejected }
    ending =
      parsed == nil
      ? .failed(failure(.timeout, "the server did not answer within \(limits.responseTimeout)"))
      : .stalled(
        "the server sent fewer than \(limits.stallFloor) bytes per second for \(limits.stallTime)")
  }

  /// Ends the exchange with `outcome`, unless it is already ending.
  func end(_ outcome: ExchangeOutcome) {
    ending = ending ?? outcome
  }

  /// Passes the collected bytes on and returns the result of the exchange. `finished` is libcurl's result; nil if Haul ended
  /// the exchange.
  func finish(_ finished: CurlEnd?) -> ExchangeResult {
    if let finished, isAnswer(finished) { receiveEnd(finished) }
    if finished?.isOK == true { judgeChallenge() }
    if ending != .stopped && ending != .rejected { deliver() }
    // It does not matter how an unwanted body ended.
    let end = refusedBody == nil ? finished.map(judge) : finished.map { _ in .rejected }
    return ExchangeResult(
      head: parsed?.head, outcome: ending ?? end ?? .cancelled, bytes: bytes,
      refusedBody: refusedBody?.beginning ?? [], cookies: easy.cookies,
      primaryAddress: connectedTo, refusedAddresses: refused.map(\.description),
      metrics: metrics)
  }

  /// Whether libcurl's handle may hold a Digest challenge.
  var hasMetDigest: Bool {
    order.request.digest != nil || challenge != nil || parsed?.head.asksForDigest == true
  }

  /// Passes the 401 to the sink if libcurl has given up.
  private func judgeChallenge() {
    guard let challenge, !hasAnswered, parsed == nil, ending == nil else { return }
    parsed = challenge
    _ = isAccepted()
    ending = .rejected
  }

  /// Whether an FTP or SFTP exchange ended without any byte. Its head then comes from libcurl's result.
  func isAnswer(_ finished: CurlEnd) -> Bool {
    file != nil && parsed == nil && ending == nil && (finished.isOK || finished.refusal != nil)
  }

  private func receiveEnd(_ finished: CurlEnd) {
    guard let file else { return }
    var facts = easy.fileFacts
    guard let refusal = finished.refusal ?? (file.offset > 0 ? .beyondEnd : nil) else {
      _ = receiveFile(file, facts)
      return
    }
    // libcurl requests nothing if the file is exactly as long as the part.
    if finished.isOK, facts.length != nil { facts.length = file.offset }
    parsed = file.head(refusal, facts, now: .now)
    _ = isAccepted()
  }

  private func deliver() {
    guard let full = buffer else { return }
    buffer = nil
    bytes += Int64(full.count)
    switch order.sink.body(full) {
    case .more: break
    case .pause: brake(.sink, true)
    case .stop: ending = ending ?? .stopped
    }
  }

  private func startWatch(limit: Duration, quota: Int64) {
    watch = StallWatch(limit: limit, quota: quota, now: .now)
    watch.setPaused(!brakes.isEmpty, now: .now)
  }

  private func brake(_ who: Brakes, _ on: Bool) {
    let wasFree = brakes.isEmpty
    if on { brakes.insert(who) } else { brakes.remove(who) }
    guard wasFree != brakes.isEmpty else { return }
    watch.setPaused(!brakes.isEmpty, now: .now)
    if brakes.isEmpty { easy.unpause() }
  }
}
