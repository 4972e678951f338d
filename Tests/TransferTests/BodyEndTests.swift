import Testing

@testable import Transfer

@Suite struct BodyEndTests {
  private static let record = Checkpoint(
    completeLength: 10_000, validator: .strongETag("\"v\""), durable: ByteRanges(0..<8192),
    part: "1-1", inode: 1)

  /// A state with the policy that a line names.
  private func state(_ change: (inout TransferState) -> Void = { _ in }) -> TransferState {
    var state = TransferState(checkpoint: Self.record)
    change(&state)
    return state
  }

  private func part(_ framing: Framing, _ end: Int64, progress: Bool = true) -> Body {
    Body(
      kind: .part(end: 10_000, allThere: end == 10_000), framing: framing, end: end,
      progress: progress)
  }

  private func whole(_ length: Int64?, _ framing: Framing, _ end: Int64) -> Body {
    Body(kind: .whole(length: length), framing: framing, end: end, progress: true)
  }

  @Test func `everything there is complete, however the connection ended`() {
    for framing in [Framing.complete, .closed, .broken] {
      #expect(
        decideEnd(state(), body: part(framing, 10_000)) == Ruling(nil, .verify(length: 10_000)))
      #expect(
        decideEnd(state(), body: whole(9, framing, 9)) == Ruling(nil, .verify(length: 9)))
    }
    #expect(decideEnd(state(), body: whole(nil, .complete, 9)) == Ruling(nil, .verify(length: 9)))
    #expect(decideEnd(state(), body: whole(0, .complete, 0)) == Ruling(nil, .verify(length: 0)))
  }

  @Test func `a short body is valid as far as it came`() {
    #expect(decideEnd(state(), body: part(.broken, 9000)) == Ruling(24, .askForRest))
    #expect(decideEnd(state(), body: part(.closed, 9000)) == Ruling(20, .askForRest))
    #expect(decideEnd(state(), body: whole(10_000, .broken, 9000)) == Ruling(24, .askForRest))
    let early = Body(
      kind: .part(end: 9000, allThere: false), framing: .complete, end: 9000, progress: true)
    #expect(decideEnd(state(), body: early) == Ruling(2, .askForRest))
  }

  @Test func `three answers without progress end in a whole download`() {
    var state = state()
    let nothing = part(.broken, 8192, progress: false)
    #expect(state.ended(nothing).verdict == .askForRest)
    #expect(state.ended(nothing).verdict == .askForRest)
    #expect(state.ended(part(.broken, 8193)).verdict == .askForRest)
    #expect(state.ended(nothing).verdict == .askForRest)
    #expect(state.ended(nothing).verdict == .askForRest)
    #expect(state.ended(nothing).verdict == .restart)
    guard case .request(_, asked: .whole) = state.next() else {
      Issue.record("still asks for a range")
      return
    }
  }

  @Test func `what cannot be resumed fails as interrupted`() {
    expect(
      decideEnd(state { $0.attempts.wholeOnly = true }, body: whole(10, .broken, 5)), 24,
      .interrupted)
    expect(
      decideEnd(state { $0.checkpoint?.validator = nil }, body: whole(10, .broken, 5)), 24,
      .interrupted)
    expect(decideEnd(state { $0.checkpoint = nil }, body: whole(10, .closed, 5)), 20, .interrupted)
    expect(decideEnd(state(), body: whole(nil, .broken, 5)), 22, .interrupted)
  }

  @Test func `excess is dropped, and only a digest saves what came`() {
    let digest = state { $0.policy.digestWanted = true }
    #expect(
      decideEnd(digest, body: part(.excess, 10_000))
        == Ruling(21, .dropExcessAndVerify(length: 10_000)))
    #expect(
      decideEnd(digest, body: whole(9, .excess, 9)) == Ruling(21, .dropExcessAndVerify(length: 9)))
    #expect(decideEnd(state(), body: part(.excess, 10_000)) == Ruling(21, .restart))
    #expect(decideEnd(state(), body: whole(9, .excess, 9)) == Ruling(21, .restart))
    expect(
      decideEnd(state { $0.attempts.wholeOnly = true }, body: whole(9, .excess, 9)), 21, .protocol)
  }

  @Test func `no length and closed is complete only with a proof`() {
    let body = whole(nil, .closed, 9)
    #expect(decideEnd(state(), body: body) == Ruling(23, .secondDownload))
    #expect(
      decideEnd(state { $0.attempts.secondDownload = true }, body: body)
        == Ruling(23, .compareWithFirst))
    #expect(
      decideEnd(state { $0.policy.digestWanted = true }, body: body)
        == Ruling(23, .verify(length: 9)))
    #expect(
      decideEnd(state { $0.policy.acceptUnverifiedLength = true }, body: body)
        == Ruling(23, .verify(length: 9)))
    #expect(
      decideEnd(state { $0.policy.expectedLength = 9 }, body: body)
        == Ruling(23, .verify(length: 9)))
    expect(decideEnd(state { $0.policy.expectedLength = 10 }, body: body), 23, .interrupted)
  }

  @Test func `a wrong digest of a spliced file earns one whole download`() {
    var state = state()
    #expect(state.mismatched() == .restart)
    state.attempts.note(
      .wholeBody(Representation(completeLength: 9), resumable: true))
    guard case .fail(let error) = state.mismatched() else {
      Issue.record("restarts for ever")
      return
    }
    #expect(error.errorClass == .digest)
  }

  private func expect(_ ruling: Ruling<Ending>, _ row: Int, _ errorClass: TransferError.Class) {
    guard case .fail(let error) = ruling.verdict else {
      Issue.record("\(ruling)")
      return
    }
    #expect(ruling.row == row)
    #expect(error.errorClass == errorClass)
  }
}
