import HaulTransfer
import Testing

/// One line of the table: replies of one of curl's cases, what we asked, what must come of it.
struct CurlCaseRow: Sendable, CustomTestStringConvertible {
  /// A download that goes on from so many bytes, under the validator of the first reply where it has one.
  struct Start: Sendable {
    var durable: Int64
    var length: Int64
  }

  enum Expected: Equatable {
    /// The last reply's own bytes, under the path that was asked for.
    case complete
    /// No file; so many bytes are kept for a later attempt.
    case refused(TransferError.Class, kept: Int64 = 0)
  }

  let number: Int
  /// Names of the sections in the order of our requests; the last one answers all further ones.
  let replies: [String]
  let resuming: Start?
  let expected: Expected
  let why: String
  let requests: Int
  let maximumLength: Int64?
  let retryAfter: Duration?

  init(
    _ number: Int, _ replies: String..., resuming: Start? = nil, gives expected: Expected,
    _ why: String, requests: Int? = nil, maximumLength: Int64? = nil, retryAfter: Duration? = nil
  ) {
    self.number = number
    self.replies = replies.isEmpty ? ["data"] : replies
    self.resuming = resuming
    self.expected = expected
    self.why = why
    self.requests = requests ?? self.replies.count
    self.maximumLength = maximumLength
    self.retryAfter = retryAfter
  }

  var testDescription: String { "\(number) \(replies.joined(separator: ", ")): \(why)" }

  static let all = ranges + chunks + lengths + redirects + retries + others

  /// Ranges and resuming. We ask from 4 KiB before what is missing, here from 0: what starts later is refused.
  private static let ranges: [Self] = [
    Self(12, gives: .refused(.protocol), "206 though no range was asked for"),
    Self(
      12, resuming: Start(durable: 100, length: 3527),
      gives: .refused(.protocol, kept: 100),
      "206 starts after what was asked for, then 206 unasked",
      requests: 2),
    Self(
      38, resuming: Start(durable: 78, length: 200),
      gives: .refused(.unverifiedLength, kept: 78),
      "200 without validator and length, where both were known", requests: 2),
    Self(92, gives: .refused(.http4xx), "416 though no range was asked for"),
    Self(
      92, resuming: Start(durable: 87, length: 100),
      gives: .refused(.http4xx, kept: 87),
      "416 names another length: changed, then 416 to a whole request",
      requests: 2),
    Self(
      92, resuming: Start(durable: 80, length: 87),
      gives: .refused(.http4xx, kept: 80), "416 though bytes are missing: a probe, then the whole",
      requests: 3),
    Self(
      99, resuming: Start(durable: 5000, length: 9_999_999_999),
      gives: .refused(.http404, kept: 5000),
      "404 to a range, then to a whole request, keeps what is there", requests: 2),
    Self(
      188, "data", "data1", resuming: Start(durable: 50, length: 65),
      gives: .refused(.protocol, kept: 50),
      "200 behind a redirect says twice that it carries a part", requests: 3),
    Self(
      189, "data", "data1", resuming: Start(durable: 50, length: 65),
      gives: .refused(.suspectPage, kept: 50),
      "200 behind a redirect without validator is suspect, and so is the whole", requests: 3),
    Self(
      194, resuming: Start(durable: 87, length: 100),
      gives: .refused(.http4xx, kept: 87), "as 92, and the connection closes", requests: 2),
    Self(
      1040, resuming: Start(durable: 100, length: 120),
      gives: .refused(.http4xx, kept: 100),
      "416 without Content-Range: a probe, then the whole", requests: 3),
    Self(
      1042, resuming: Start(durable: 200, length: 300),
      gives: .refused(.suspectPage, kept: 200),
      "200 without validator, shorter than what is there, is suspect", requests: 2),
    Self(
      1043, resuming: Start(durable: 40, length: 100),
      gives: .refused(.protocol, kept: 40), "206 starts after what was asked for, then 206 unasked",
      requests: 2),
    Self(1058, gives: .refused(.protocol), "206 though no range was asked for"),
    Self(1117, gives: .refused(.http4xx), "416 with a long page, though no range was asked for"),
    Self(1117, "data1", gives: .refused(.protocol), "206 whose range and length differ, unasked"),
    Self(
      1117, "data1", resuming: Start(durable: 10, length: 155),
      gives: .refused(.protocol, kept: 10),
      "206 whose range and length differ", requests: 2),
    Self(1156, gives: .complete, "200 is whole"),
    Self(1156, "data1", gives: .complete, "200 is whole where its Content-Range is no range"),
    Self(
      1156, "data2", resuming: Start(durable: 3, length: 7),
      gives: .refused(.http4xx, kept: 3),
      "416 without Content-Range: a probe, then the whole", requests: 3),
    Self(
      1156, "data3", resuming: Start(durable: 3, length: 7),
      gives: .refused(.http4xx, kept: 3),
      "416 names a length below what is there: changed", requests: 2),
    Self(
      1273, resuming: Start(durable: 100, length: 120),
      gives: .refused(.http4xx, kept: 100),
      "416 without Content-Range: a probe, then the whole", requests: 3),
    Self(
      1434, resuming: Start(durable: 100, length: 120),
      gives: .refused(.suspectPage, kept: 100),
      "200 as long as what is there does not make that complete", requests: 2),
    Self(
      1475, resuming: Start(durable: 100, length: 120),
      gives: .refused(.http4xx, kept: 100),
      "416 with a Content-Range without unit", requests: 3),
    Self(3035, gives: .refused(.interrupted), "5 bytes of 26, and no validator to go on with"),
    Self(
      3035, "data1", "data2", resuming: Start(durable: 5, length: 26),
      gives: .refused(.http4xx, kept: 5), "206 starts after what was asked for, then 404"),
    Self(
      3035, "data3", resuming: Start(durable: 11, length: 26),
      gives: .refused(.suspectPage, kept: 11),
      "a page without validator where something of no known type used to be"),
  ]

  /// Transfer-Encoding.
  private static let chunks: [Self] = [
    Self(34, gives: .complete, "chunks with an extension, the head's lines ended by LF alone"),
    Self(36, gives: .refused(.interrupted), "a chunk size that is none"),
    Self(207, gives: .refused(.interrupted), "a chunk that breaks off"),
    Self(266, gives: .complete, "a trailer behind the last chunk"),
    Self(326, gives: .complete, "one chunk of several lines"),
    Self(365, gives: .complete, "chunks count, not the Content-Length beside them"),
    Self(457, gives: .refused(.tooLarge), "chunks beyond the limit", maximumLength: 143),
    Self(1416, gives: .refused(.interrupted), "a chunk size that no number holds"),
    Self(1482, gives: .complete, "chunked named twice, chunked once"),
    Self(1483, gives: .complete, "chunked named in two fields, chunked once"),
    Self(1493, gives: .complete, "identity before chunked"),
    Self(
      1494, gives: .complete, "identity twice, which is none: the length counts"),
    Self(1495, gives: .refused(.interrupted), "chunked is not the last coding"),
    Self(1722, gives: .refused(.protocol), "a coding that nobody knows behind chunked"),
    Self(1723, gives: .refused(.protocol), "the same behind chunked twice"),
  ]

  /// Content-Length and the size of a head.
  private static let lengths: [Self] = [
    Self(178, gives: .refused(.protocol), "a negative length", requests: 2),
    Self(393, gives: .refused(.protocol), "a length beyond 64 bits", maximumLength: 2_000_000),
    Self(394, gives: .refused(.protocol), "a length that is a word", requests: 2),
    Self(395, gives: .refused(.protocol), "a length beyond 64 bits"),
    Self(415, gives: .refused(.protocol), "a carriage return before the number", requests: 2),
    Self(497, gives: .refused(.protocol), "a head above 256 KiB"),
    Self(498, gives: .refused(.protocol), "a redirect's head above 256 KiB"),
    Self(767, gives: .complete, "the same length in two fields"),
    Self(768, gives: .refused(.protocol), "letters behind the number"),
    Self(769, gives: .complete, "spaces behind the number"),
    Self(770, gives: .complete, "the same length in lists, with a leading zero"),
    Self(771, gives: .refused(.protocol), "two lengths"),
    Self(1909, gives: .refused(.interrupted), "4 bytes of 5, and no validator to go on with"),
    Self(1909, "data1", gives: .complete, "the retry brings all 5"),
    Self(3223, gives: .refused(.interrupted), "11 bytes of 100, and no validator to go on with"),
  ]

  private static let redirects: [Self] = [
    Self(
      477, "data", "data2", gives: .complete, "a redirect's body does not count for the limit",
      maximumLength: 5),
    Self(
      1633, "data", "data2", gives: .refused(.rateLimited), "429 behind a redirect",
      retryAfter: .seconds(1)),
    Self(3032, "data", "data1", "data2", "data3", gives: .complete, "to itself three times"),
  ]

  /// Later attempts are the queue's; here the class that leads to them.
  private static let retries: [Self] = [
    Self(160, gives: .complete, "a whole answer, and the connection closes"),
    Self(160, "data1", gives: .complete, "no length: fetched twice", requests: 2),
    Self(366, gives: .refused(.rateLimited), "503 and a time", retryAfter: .seconds(200)),
    Self(1079, gives: .refused(.http4xx), "401"),
    Self(1079, "data1000", gives: .refused(.interrupted), "closed without an answer"),
    Self(1594, gives: .refused(.rateLimited), "503 and a time", retryAfter: .seconds(22)),
    Self(1595, gives: .refused(.http5xx), "503 without a time"),
    Self(1596, gives: .refused(.rateLimited), "429 until the answer's own date", retryAfter: .zero),
    Self(1634, gives: .refused(.rateLimited), "429 and a time", retryAfter: .seconds(1)),
    Self(1634, "data1", gives: .complete, "the retry is served"),
    Self(1635, gives: .refused(.rateLimited), "429 with a page", retryAfter: .seconds(1)),
  ]

  private static let others: [Self] = [
    Self(221, gives: .complete, "a coded body is stored as sent, broken or not"),
    Self(334, gives: .refused(.protocol), "204 carries no file, chunked or not"),
    Self(1311, gives: .complete, "the file's name is not the server's to say"),
    Self(1584, gives: .complete, "nor is its folder"),
    Self(1585, gives: .complete, "nor is it in the manner of DOS"),
  ]
}
