import Testing

@testable import HaulTransfer

/// What a status of the client's leads to.
struct RefusalTests {
  /// Retry-After makes the difference for most of them.
  @Test(arguments: Array(400...499).filter { $0 != 421 })
  func `each status of the client's, with and without a time to come back`(_ status: Int) {
    func failure(_ fields: String...) -> TransferError? {
      let answer = ResponseHead(
        status: status, fields: fields.map { _ in .init("Retry-After", "9") })
      guard
        case .fail(let error) = decide(
          TransferState(checkpoint: nil), asked: .whole, head: answer,
          now: HTTPDate(seconds: 1_767_225_600)
        ).verdict
      else { return nil }
      return error
    }
    let without: TransferError.Class =
      switch status {
      case 408, 425: .http5xx
      case 429: .rateLimited
      case 403: .http403
      case 404: .http404
      case 410: .http410
      default: .http4xx
      }
    let with: TransferError.Class =
      switch status {
      case 403, 429: .rateLimited
      case 404: .http404
      case 410: .http410
      case 400, 401, 416: .http4xx
      default: .http5xx
      }
    #expect(failure()?.errorClass == without)
    #expect(failure()?.message.contains("later") == false)
    #expect(failure("Retry-After")?.errorClass == with)
  }

  @Test func `redirects end`() {
    let now = HTTPDate(seconds: 1_767_225_600)
    var state = TransferState(checkpoint: nil)
    for _ in 0..<10 { _ = state.answered(head(302, "Location: /x"), asked: .whole, now: now) }
    let ruling = state.answered(head(302, "Location: /x"), asked: .whole, now: now)
    guard case .fail(let error) = ruling.verdict else {
      Issue.record("\(ruling)")
      return
    }
    #expect(error.errorClass == .redirects)
  }

  /// Bytes of another unit, or of a file whose length is not told, are not known to be all of it.
  @Test(arguments: [
    "items 0-9/100", "bytes 0-99", "bytes 0-99/*", "bytes 0-98/100", "bytes 1-99/100",
  ])
  func `9: a part that nobody asked for is not the file`(range: String) {
    let answer = head(206, "Content-Range: \(range)", "ETag: \"v\"")
    let ruling = decide(
      TransferState(checkpoint: nil), asked: .whole, head: answer,
      now: HTTPDate(seconds: 1_767_225_600))
    #expect(ruling.row == 9)
    guard case .fail(let error) = ruling.verdict else {
      Issue.record("\(ruling)")
      return
    }
    #expect(error.errorClass == .protocol)
  }
}
