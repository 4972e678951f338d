import Testing

@testable import HaulTransfer

/// A source that changes while it is read, behind a server that breaks the rules of ranges at
/// random: what is published is always one of its versions, never a mixture.
@Suite struct SpliceTests {
  static let length = 9000

  /// One state of the source. The validator is honest: versions that differ have different ones.
  private struct Version {
    let bytes: [UInt8]
    let field: String

    init(_ number: Int, dated: Bool, _ generator: inout SplitMix) {
      // Mostly equal lengths, since those are what a length check does not see.
      let length = SpliceTests.length + (number % 4 == 3 ? 1 : 0)
      bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let minute = "\(10 + number / 50):\(10 + number % 50)"
      field =
        dated ? "Last-Modified: Sun, 06 Nov 1994 \(minute):37 GMT" : "ETag: \"\(number)\""
    }
  }

  /// An answer: its head, and the bytes that it truly carries.
  private struct Answer {
    var head: ResponseHead
    var bytes: ArraySlice<UInt8>
    var framing: Framing
  }

  @Test(arguments: [false, true], 0..<150)
  func `no mixture is ever taken for the file`(_ dated: Bool, _ seed: Int) {
    var generator = SplitMix(state: UInt64(seed))
    var versions = [Version(0, dated: dated, &generator)]
    var download = Download(state: TransferState(checkpoint: nil))
    for _ in 0..<200 {
      guard case .request(_, let asked) = download.state.next() else {
        download.verified = true
        break
      }
      if Int.random(in: 0..<5, using: &generator) == 0 {
        versions.append(Version(versions.count, dated: dated, &generator))
      }
      let answer = Self.answer(asked, versions, &generator)
      if !download.take(answer, asked: asked) { break }
    }
    if download.verified {
      #expect(versions.contains { $0.bytes == download.disk })
    }
    #expect(download.verified || download.failed)
  }

  /// The worker and its disk, in memory.
  private struct Download {
    var state: TransferState
    var disk: [UInt8] = []
    var verified = false
    var failed = false

    /// Returns false at the end.
    mutating func take(_ answer: Answer, asked: RequestKind) -> Bool {
      let ruling = state.answered(answer.head, asked: asked, now: HTTPDate(seconds: 1_767_225_600))
      switch ruling.verdict {
      case .accept(let start, let compareUntil, let end):
        return append(answer, Int(start), Int(compareUntil), Int(end))
      case .wholeBody(let new, _), .changedUseBody(let new):
        return begin(answer, new)
      case .verify: verified = true
      case .fail: failed = true
      default: return true
      }
      return false
    }

    private mutating func append(_ answer: Answer, _ start: Int, _ compareUntil: Int, _ end: Int)
      -> Bool
    {
      let kept = answer.bytes.prefix(end - start)
      let known = kept.prefix(max(0, compareUntil - start))
      guard known.elementsEqual(disk[start..<(start + known.count)]) else {
        _ = state.overlapDiffered()
        return true
      }
      let old = disk.count
      disk.append(contentsOf: kept.dropFirst(disk.count - start))
      state.checkpoint?.durable = ByteRanges(0..<Int64(disk.count))
      let allThere = state.checkpoint?.isComplete == true
      return ended(
        .init(
          kind: .part(end: Int64(end), allThere: allThere), framing: answer.framing,
          end: Int64(start + kept.count), progress: disk.count > old))
    }

    private mutating func begin(_ answer: Answer, _ new: Representation) -> Bool {
      disk = Array(answer.bytes.prefix(new.completeLength.map { Int($0) } ?? .max))
      state.checkpoint = new.completeLength.map {
        Checkpoint(
          completeLength: $0, validator: new.validator, contentEncoding: new.contentEncoding,
          mediaType: new.mediaType, durable: ByteRanges(0..<Int64(disk.count)), part: "p", inode: 1,
          changes: state.attempts.changes)
      }
      return ended(
        .init(
          kind: .whole(length: new.completeLength), framing: answer.framing,
          end: Int64(disk.count), progress: !disk.isEmpty))
    }

    private mutating func ended(_ body: Body) -> Bool {
      switch state.ended(body).verdict {
      case .verify: verified = true
      case .askForRest, .restart, .secondDownload: return true
      default: failed = true
      }
      return false
    }
  }

  /// What a server of uncertain virtue says.
  private static func answer(
    _ asked: RequestKind, _ versions: [Version], _ generator: inout SplitMix
  ) -> Answer {
    // Perhaps a cache that still holds an older version.
    let stale = Int.random(in: 0..<4, using: &generator) == 0
    let version = stale ? versions.randomElement(using: &generator) : versions.last
    guard let version else { preconditionFailure("there is always a version") }
    let date = "Date: Sun, 20 Nov 1994 08:48:37 GMT"
    let count = version.bytes.count

    guard let range = wanted(asked, count), Int.random(in: 0..<6, using: &generator) > 0 else {
      let sized = Int.random(in: 0..<8, using: &generator) > 0
      var head = head(200, version.field, date)
      if sized { head.fields.append(.init("Content-Length", "\(count)")) }
      return cut(version.bytes[...], head, &generator, sized: sized)
    }
    var first = range.lowerBound
    var last = range.upperBound - 1
    var total = "\(count)"
    var fields = [version.field, date]
    switch Int.random(in: 0..<12, using: &generator) {
    case 0: first = max(0, first - 100)
    case 1: first += 50
    case 2: last = (first + last) / 2
    case 3: total = "*"
    case 4: fields = [date]
    case 5: return Answer(head: head(416), bytes: [], framing: .complete)
    case 6:
      return Answer(
        head: head(206, version.field), bytes: version.bytes[first...last], framing: .complete)
    default: break
    }
    fields.append("Content-Range: bytes \(first)-\(last)/\(total)")
    let all = ResponseHead(status: 206, fields: fields.flatMap { head(206, $0).fields })
    return cut(version.bytes[first...max(first, last)], all, &generator, sized: true)
  }

  private static func wanted(_ asked: RequestKind, _ count: Int) -> Range<Int>? {
    switch asked {
    case .whole, .ifChanged: nil
    case .probe: 0..<1
    case .part(let range, _, _): Int(range.lowerBound)..<min(Int(range.upperBound), count)
    }
  }

  /// Perhaps only the beginning of it arrives. Without a length nobody can tell; the framing does.
  private static func cut(
    _ bytes: ArraySlice<UInt8>, _ head: ResponseHead, _ generator: inout SplitMix, sized: Bool
  ) -> Answer {
    guard Int.random(in: 0..<3, using: &generator) == 0 else {
      return Answer(head: head, bytes: bytes, framing: .complete)
    }
    let kept = bytes.prefix(Int.random(in: 0...bytes.count, using: &generator))
    return Answer(
      head: head, bytes: kept, framing: sized && Bool.random(using: &generator) ? .closed : .broken)
  }
}

/// A generator that a seed repeats (Steele, Lea, Flood 2014).
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
