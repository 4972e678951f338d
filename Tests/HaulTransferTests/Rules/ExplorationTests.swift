import TestSupport
import Testing

@testable import HaulTransfer

/// Every sequence of answers ends: the graph of states has no circle, and an honest server always
/// brings the file home.
@Suite struct ExplorationTests {
  private static let length: Int64 = 100_000
  private static let now = HTTPDate(seconds: 1_767_225_600)

  /// A state between two requests, or waiting for the answer to one.
  private struct Node: Hashable {
    var state: TransferState
    var asked: RequestKind?
  }

  @Test(arguments: [false, true], [false, true])
  func `no sequence of answers goes round in circles, and an honest server ends any well`(
    _ digest: Bool, _ unsafe: Bool
  ) async {
    var longest = 0
    var seen: [Node: Int] = [:]
    var path: Set<Node> = []
    for start in Self.starts(digest: digest, rangeUnsafe: unsafe) {
      longest = max(longest, await Self.depth(Node(state: start, asked: nil), &seen, &path))
    }
    // Steps and answers together; an unsafe host is never asked for a range.
    #expect(seen.count > (unsafe ? 10 : 500))
    #expect(longest < 100)
    guard digest && !unsafe else { return }
    // After whatever a bad server has answered, one answer at a time or many.
    for node in seen.keys {
      #expect(Self.completes(node.state))
      await Task.yield()
    }
  }

  private static func starts(digest: Bool, rangeUnsafe: Bool) -> [TransferState] {
    let checkpoints = [nil] + [Int64(50_000), 75_000, length].map { checkpoint(durable: $0) }
    // Of one, a range has failed twice.
    var refused = checkpoint(durable: 50_000)
    refused.refusal = .init(status: 502, count: 2)
    return (checkpoints + [refused]).map {
      var policy = TransferState.Policy()
      policy.digest = digest ? ExpectedDigest(.crc32, bytes: [0, 0, 0, 0]) : nil
      // A redirect triples the number of states.
      policy.maximumRedirects =
        $0?.refusal == nil && (isLongRun || $0 == nil && rangeUnsafe) ? 1 : 0
      return TransferState(checkpoint: $0, rangeUnsafe: rangeUnsafe, policy: policy)
    }
  }

  private static func checkpoint(durable: Int64, changes: Int = 0) -> Checkpoint {
    Checkpoint(
      completeLength: length, validator: .strongETag("\"v\""), mediaType: "a/b",
      durable: ByteRanges(0..<durable), part: "p", inode: 1, changes: changes)
  }

  /// The longest way from `node` to an end; a circle is recorded as an issue.
  private static func depth(
    _ node: Node, _ seen: inout [Node: Int], _ path: inout Set<Node>
  ) async -> Int {
    // Other tests run between the states: all of them take half a minute of a slow machine.
    await Task.yield()
    if let known = seen[node] { return known }
    guard path.count < 200, path.insert(node).inserted else {
      Issue.record("circle through \(node)")
      return 0
    }
    defer { path.remove(node) }
    var longest = 0
    for case let next? in Set(successors(of: node)) {
      longest = max(longest, 1 + (await depth(next, &seen, &path)))
    }
    seen[node] = longest
    return longest
  }

  /// Where any answer leads; nil is an end.
  private static func successors(of node: Node) -> [Node?] {
    var state = node.state
    guard let asked = node.asked else {
      switch state.next() {
      case .request(_, let asked): return [Node(state: state, asked: asked)]
      case .verify: return afterVerify(state)
      }
    }
    return failures(state, asked)
      + heads(asked).flatMap { head -> [Node?] in
        var state = node.state
        let ruling = state.answered(head, asked: asked, now: now)
        return after(ruling.verdict, state, asked)
      }
  }

  /// No answer comes, or one that cannot be read.
  private static func failures(_ state: TransferState, _ asked: RequestKind) -> [Node?] {
    [TransferError.Class.timeout, .protocol].map { errorClass in
      var state = state
      let isDoubted = state.failed(TransferError(errorClass, ""), asked: asked)
      return isDoubted ? Node(state: state, asked: nil) : nil
    }
  }

  private static func after(_ action: Action, _ state: TransferState, _ asked: RequestKind)
    -> [Node?]
  {
    switch action {
    // The digest judges what is on trial, and either way it is over.
    case .fail, .suspect, .trial: return [nil]
    // Its end may be the transfer's, or not.
    case .unsizedTrial: return [nil] + bodies(.whole(length: nil), state, from: 0, isOnTrial: true)
    case .verify: return afterVerify(state)
    case .redirect: return [Node(state: state, asked: asked)]
    case .accept(_, _, let end):
      var differed = state
      _ = differed.overlapDiffered()
      return [Node(state: differed, asked: nil)]
        + bodies(.part(end: end, allThere: end == length), state, from: durable(state))
    case .compare(let new, let isSame, _):
      var differed = state
      _ = differed.wholeDiffered()
      return [Node(state: differed, asked: nil)]
        + bodies(
          .whole(length: new.completeLength), state, from: durable(state), goesOn: isSame)
    case .wholeBody(let new, _), .changedUseBody(let new):
      return bodies(.whole(length: new.completeLength), state, from: 0)
    default: return [Node(state: state, asked: nil)]
    }
  }

  /// Every end of a body that was accepted, with some, all or none of it received.
  private static func bodies(
    _ kind: Body.Kind, _ state: TransferState, from start: Int64, goesOn: Bool = true,
    isOnTrial: Bool = false
  ) -> [Node?] {
    var nodes: [Node?] = []
    for framing in Framing.allCases {
      for end in [start, 75_000, length] where end >= start {
        var state = state
        if !isOnTrial {
          state.checkpoint = checkpoint(durable: end, changes: state.attempts.changes)
        }
        let ruling = state.ended(
          Body(kind: kind, framing: framing, end: end, progress: end > start))
        switch ruling.verdict {
        case .fail, .compareWithFirst: nodes.append(nil)
        case .verify, .dropExcessAndVerify:
          nodes += afterVerify(state)
        default: nodes.append(goesOn ? Node(state: state, asked: nil) : nil)
        }
      }
    }
    return nodes
  }

  /// The digest fits, or is one of two wrong ones.
  private static func afterVerify(_ state: TransferState) -> [Node?] {
    guard state.wantedDigest != nil else { return [nil] }
    return [nil]
      + [UInt8(1), 2].map { byte in
        var state = state
        let found = ExpectedDigest(.crc32, bytes: [0, 0, 0, byte])
        guard state.mismatched(found: found) == .restart else { return nil }
        return Node(state: state, asked: nil)
      }
  }

  private static func durable(_ state: TransferState) -> Int64 {
    state.checkpoint?.durable.prefixEnd ?? 0
  }

  /// Answers that between them lead to every action.
  private static func heads(_ asked: RequestKind) -> [ResponseHead] {
    let start = if case .part(let range, _, _) = asked { range.lowerBound } else { Int64(0) }
    let last = asked == .probe ? 0 : length - 1
    let range = "Content-Range: bytes \(start)-\(last)/\(length)"
    return [
      head(206, range, "ETag: \"v\""), head(206, range), head(206, range, "ETag: \"w\""), head(206),
      head(206, range, "ETag: \"v\"", "Content-Encoding: gzip"),
      head(206, "Content-Range: bytes \(start)-\(start)/\(length)", "ETag: \"v\""),
      head(200, "ETag: \"v\"", "Content-Length: \(length)"), head(200), head(200, "ETag: \"w\""),
      head(200, "Content-Length: \(length)"),
      head(416), head(416, "Content-Range: bytes */\(length)"),
      head(416, "Content-Range: bytes */1"), head(412), head(302, "Location: /x"), head(403),
      head(502),
    ]
  }

  /// Plays a server that follows RFC 9110 until the end, and says whether the file came whole.
  private static func completes(_ start: TransferState) -> Bool {
    var state = start
    for _ in 0..<20 {
      guard case .request(_, let asked) = state.next() else { return true }
      let answer = asked == .whole ? heads(asked)[6] : heads(asked)[0]
      let ruling = state.answered(answer, asked: asked, now: now)
      switch ruling.verdict {
      case .verify: return true
      case .accept:
        let body = Body(
          kind: .part(end: length, allThere: true), framing: .complete, end: length, progress: true)
        return state.ended(body).verdict == .verify(length: length)
      case .wholeBody, .compare:
        let body = Body(
          kind: .whole(length: length), framing: .complete, end: length, progress: true)
        return state.ended(body).verdict == .verify(length: length)
      case .fail: return false
      default: continue
      }
    }
    return false
  }
}
