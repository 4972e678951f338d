@testable import HaulTransfer

/// Sun, 06 Nov 1994 08:49:37 GMT
private let now = HTTPDate(seconds: 784_111_777)

/// A head as it comes, judged as the answer to each kind of question.
@Sendable func fuzzAnswer(_ bytes: [UInt8]) {
  var parser = HeadParser(isSecure: bytes.count % 2 == 0)
  for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
    guard let parsed = try? parser.take(line.span) else { continue }
    for asked in questions { judge(parsed.head, asked) }
    return
  }
}

private let questions: [RequestKind] = [
  .whole, .probe, .part(range: 4096..<1_000_000, fresh: 8192, ifRange: true),
  .part(range: 4096..<1_000_000, fresh: 8192, ifRange: false),
]

private let checkpoint = Checkpoint(
  completeLength: 1_000_000, validator: .strongETag("\"a\""), mediaType: "application/zip",
  durable: ByteRanges(0..<8192), part: "1.1", inode: 1)

private func judge(_ head: ResponseHead, _ asked: RequestKind) {
  var state = TransferState(checkpoint: asked == .whole ? nil : checkpoint)
  let ruling = state.answered(head, asked: asked, now: now)
  if case .accept(let start, let compareUntil, let end) = ruling.verdict {
    precondition(start >= 0 && start <= compareUntil && compareUntil <= end && end <= 1_000_000)
  }
  if case .wholeBody(let new, _) = ruling.verdict {
    precondition(new.completeLength ?? 0 >= 0)
    precondition((0...now.seconds).contains(new.modified ?? 0))
  }
  _ = state.next()
}
