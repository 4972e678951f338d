import Testing

@testable import HaulTransfer

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
    for framing in [Framing.complete, .closed, .cut, .broken] {
      #expect(
        decideEnd(state(), body: part(framing, 10_000))
          == TableDecision(nil, .verify(length: 10_000)))
      #expect(
        decideEnd(state(), body: whole(9, framing, 9)) == TableDecision(nil, .verify(length: 9)))
    }
    #expect(
      decideEnd(state(), body: whole(nil, .complete, 9)) == TableDecision(nil, .verify(length: 9)))
    #expect(
      decideEnd(state(), body: whole(0, .complete, 0)) == TableDecision(nil, .verify(length: 0)))
  }

  @Test func `chunks that end well do not prove another length than the known one`() {
    let body = whole(nil, .complete, 9)
    let contradicted = { (change: (inout TransferState) -> Void) in
      state {
        $0.requiredLength = 10
        change(&$0)
      }
    }
    expect(decideEnd(contradicted { _ in }, body: body), 23, .unverifiedLength)
    let proven = TableDecision(nil, BodyEnding.verify(length: 9))
    #expect(decideEnd(state { $0.requiredLength = 9 }, body: body) == proven)
    #expect(decideEnd(contradicted { $0.policy.digest = Self.wanted }, body: body) == proven)
    #expect(decideEnd(contradicted { $0.stated = Self.wanted }, body: body) == proven)
    #expect(
      decideEnd(contradicted { $0.policy.acceptUnverifiedLength = true }, body: body) == proven)
  }

  @Test func `a short body is valid as far as it came`() {
    #expect(decideEnd(state(), body: part(.broken, 9000)) == TableDecision(24, .askForRest))
    #expect(decideEnd(state(), body: part(.closed, 9000)) == TableDecision(20, .askForRest))
    #expect(
      decideEnd(state(), body: whole(10_000, .broken, 9000)) == TableDecision(24, .askForRest))
    let early = Body(
      kind: .part(end: 9000, allThere: false), framing: .complete, end: 9000, progress: true)
    #expect(decideEnd(state(), body: early) == TableDecision(2, .askForRest))
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

  @Test func `what cannot be resumed says why`() {
    let short = whole(10, .broken, 5)
    expect(decideEnd(state { $0.attempts.wholeOnly = true }, body: short), 24, .range)
    let changed = state {
      $0.attempts.wholeOnly = true
      $0.attempts.changes = 3
    }
    expect(decideEnd(changed, body: short), 24, .sourceChanged)
    expect(decideEnd(state { $0.checkpoint?.validator = nil }, body: short), 24, .interrupted)
    expect(decideEnd(state { $0.checkpoint = nil }, body: whole(10, .closed, 5)), 20, .interrupted)
    expect(decideEnd(state(), body: whole(nil, .broken, 5)), 22, .interrupted)
  }

  @Test func `excess is dropped, and only a digest saves what came`() {
    let digest = state { $0.policy.digest = Self.wanted }
    #expect(
      decideEnd(digest, body: part(.excess, 10_000))
        == TableDecision(21, .dropExcessAndVerify(length: 10_000)))
    #expect(
      decideEnd(digest, body: whole(9, .excess, 9))
        == TableDecision(21, .dropExcessAndVerify(length: 9)))
    #expect(decideEnd(state(), body: part(.excess, 10_000)) == TableDecision(21, .restart))
    #expect(decideEnd(state(), body: whole(9, .excess, 9)) == TableDecision(21, .restart))
    expect(
      decideEnd(state { $0.attempts.wholeOnly = true }, body: whole(9, .excess, 9)), 21, .protocol)
  }

  @Test func `no length and closed is complete only with a proof`() {
    let body = whole(nil, .closed, 9)
    // Another length was stated before.
    expect(decideEnd(state(), body: body), 23, .unverifiedLength)
    let unsized = state { $0.earlierLength = nil }
    #expect(decideEnd(unsized, body: body) == TableDecision(23, .secondDownload))
    let second = state {
      $0.earlierLength = nil
      $0.attempts.secondDownload = true
    }
    #expect(decideEnd(second, body: body) == TableDecision(23, .compareWithFirst))
    #expect(
      decideEnd(state { $0.policy.digest = Self.wanted }, body: body)
        == TableDecision(23, .verify(length: 9)))
    #expect(
      decideEnd(state { $0.stated = Self.wanted }, body: body)
        == TableDecision(23, .verify(length: 9)))
    #expect(
      decideEnd(state { $0.policy.acceptUnverifiedLength = true }, body: body)
        == TableDecision(23, .verify(length: 9)))
    #expect(
      decideEnd(state { $0.policy.expectedLength = 9 }, body: body)
        == TableDecision(23, .verify(length: 9)))
    expect(decideEnd(state { $0.policy.expectedLength = 10 }, body: body), 23, .interrupted)
  }

  @Test func `no length and cut inside TLS is complete only with a digest`() {
    let body = whole(nil, .cut, 9)
    for change in [
      { _ in }, { $0.policy.acceptUnverifiedLength = true }, { $0.policy.expectedLength = 9 },
    ] as [(inout TransferState) -> Void] {
      expect(decideEnd(state(change), body: body), 23, .interrupted)
    }
    #expect(
      decideEnd(state { $0.policy.digest = Self.wanted }, body: body)
        == TableDecision(23, .verify(length: 9)))
    #expect(
      decideEnd(state { $0.stated = Self.wanted }, body: body)
        == TableDecision(23, .verify(length: 9)))
    #expect(decideEnd(state(), body: part(.cut, 9000)) == TableDecision(20, .askForRest))
  }

  private static let wanted = digest(0)

  private static func digest(_ byte: UInt8) -> ExpectedDigest {
    ExpectedDigest(.crc32, bytes: [byte, 1, 2, 3])
  }

  /// How a whole came about whose digest is not the wanted one.
  struct Mismatch: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var isOfJob = true
    var spliced = false
    var isDoubtful = false
    /// Of a first whole, and of this one.
    var found: [UInt8]
    /// nil: once more.
    var error: TransferError.Class?
  }

  @Test(arguments: [
    Mismatch(testDescription: "one answer", found: [1], error: .digest),
    Mismatch(testDescription: "spliced", spliced: true, found: [1]),
    Mismatch(testDescription: "spliced, again", spliced: true, found: [1, 1], error: .digest),
    Mismatch(
      testDescription: "spliced, and another", spliced: true, found: [1, 2], error: .sourceChanged),
    Mismatch(testDescription: "spliced, then one answer", found: [1, 2], error: .digest),
    Mismatch(testDescription: "no length, or excess", isDoubtful: true, found: [1]),
    Mismatch(testDescription: "no length, again", isDoubtful: true, found: [1, 1], error: .digest),
    Mismatch(
      testDescription: "no length, and another", isDoubtful: true, found: [1, 2],
      error: .sourceChanged),
    Mismatch(testDescription: "the server's word", isOfJob: false, found: [1]),
    Mismatch(testDescription: "its word, again", isOfJob: false, found: [1, 1], error: .digest),
    Mismatch(
      testDescription: "its word, and another", isOfJob: false, found: [1, 2], error: .sourceChanged
    ),
  ])
  func `a wrong digest is final where the whole is certain or the same twice`(_ row: Mismatch) {
    var state = TransferState(checkpoint: nil)
    if row.isOfJob { state.policy.digest = Self.wanted } else { state.stated = Self.wanted }
    state.attempts.spliced = row.spliced
    state.attempts.isDoubtful = row.isDoubtful
    state.attempts.mismatch = row.found.count == 2 ? Self.digest(row.found[0]) : nil
    let ending = state.mismatched(found: Self.digest(row.found[row.found.count - 1]))
    guard let error = row.error else {
      #expect(ending == .restart)
      #expect(state.attempts.wholeOnly)
      #expect(state.attempts.mismatch == Self.digest(1))
      return
    }
    guard case .fail(let failure) = ending else {
      Issue.record("\(ending)")
      return
    }
    #expect(failure.errorClass == error)
    // Both digests, uncut.
    #expect(failure.message.contains("00010203"))
    #expect(failure.message.contains(row.found.last == 1 ? "01010203" : "02010203"))
  }

  private func expect(
    _ ruling: TableDecision<BodyEnding>, _ row: Int, _ errorClass: TransferError.Class
  ) {
    guard case .fail(let error) = ruling.verdict else {
      Issue.record("\(ruling)")
      return
    }
    #expect(ruling.row == row)
    #expect(error.errorClass == errorClass)
  }
}
