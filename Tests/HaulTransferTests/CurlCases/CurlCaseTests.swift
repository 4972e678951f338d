import Foundation
import HaulTransfer
import TestSupport
import Testing

/// curl's test server as our origin: its replies byte for byte, and what a download makes of each.
///
/// Never a file that mixes two answers, and none that is called complete because nothing contradicts it. Not
/// applicable: 33 (an upload), and of 1079 the answer to digest authentication.
@Suite(.timeLimit(.minutes(5)))
struct CurlCaseTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader

  init() throws {
    directory = try TemporaryDirectory()
    var configuration = Engine.Configuration.test
    configuration.stallTime = .seconds(5)
    downloader = try Downloader(configuration)
  }

  /// What came after the version that is here; another one is tried with `HAUL_CURL_TESTS`.
  @Test func `the cases that are not here are those of later versions`() {
    let missing = Set(CurlCaseRow.all.map(\.number)).filter { !CurlCase.isThere($0) }
    #expect(missing.isSubset(of: [767, 768, 769, 770, 771, 1584, 1585, 1722, 1723, 3035, 3223]))
  }

  @Test(arguments: CurlCaseRow.all.filter { CurlCase.isThere($0.number) })
  func `a reply of curl's test server leads to the right file or to none`(
    _ row: CurlCaseRow
  ) async throws {
    let (origin, replies) = try origin(row)
    let last = try #require(replies.last)
    var options = DownloadOptions()
    options.maximumLength = row.maximumLength
    let path = directory.path("file")
    let target = origin.url("/want/\(row.number)")
    let download =
      if let start = row.resuming {
        downloader.start(
          resumingFrom: try resumeData(start, replies[0].validator, url: target), to: path,
          options: options)
      } else {
        downloader.start(target, to: path, options: options)
      }
    do throws(TransferError) {
      let file = try await download.result.get()
      #expect(row.expected == .complete)
      #expect(FileManager.default.contents(atPath: path).map { Array($0) } == last.file)
      #expect(file.path == path)
      #expect(download.resumeData == nil)
    } catch {
      #expect(row.expected == .refused(error.errorClass, kept: download.resumeData?.bytes ?? 0))
      #expect(error.retryAfter == row.retryAfter)
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    let part = download.resumeData == nil ? 0 : 1
    #expect(left.count == (row.expected == .complete ? 1 : part), "\(left)")
    #expect(origin.log.value.exchanges.count == row.requests)
  }

  @Test(.enabled("3223 is of a later version") { CurlCase.isThere(3223) })
  func `case 3223, a connection whose answer broke off is not used again`() async throws {
    let broken = CurlCaseRow(
      3223, "data", "data1", gives: .complete, "100 bytes announced, 11 sent; then 3 of 3")
    let (origin, replies) = try origin(broken)
    let path = directory.path("file")
    let error = await #expect(throws: TransferError.self) {
      try await downloader.download(origin.url("/3223"), to: path)
    }
    #expect(error?.errorClass == .interrupted)
    _ = try await downloader.download(origin.url("/32230001"), to: path)
    #expect(FileManager.default.contents(atPath: path).map { Array($0) } == replies[1].file)
    #expect(origin.log.value.connections == 2)
  }

  /// Answers the row's replies in order, the last one again and again; also gives them.
  private func origin(_ row: CurlCaseRow) throws -> (OriginServer, [CurlReply]) {
    let file = try CurlCase(row.number)
    let named = try row.replies.map { try file.reply($0, host: "127.0.0.1:1") }
    let origin = try OriginServer { request, reply in
      let section = row.replies[min(request.number, row.replies.count) - 1]
      let answer = try file.reply(section, host: request[field: "Host"] ?? "")
      try reply.body(answer.bytes)
      if answer.closes { reply.close() }
    }
    return (origin, named)
  }

  /// A part file with the first bytes, and the checkpoint that means it.
  private func resumeData(
    _ start: CurlCaseRow.Start, _ validator: String, url: String
  ) throws -> ResumeData {
    let part = directory.path(".file.haul-part-1")
    try Pattern(seed: 7).write(to: part, length: start.durable)
    let attributes = try FileManager.default.attributesOfItem(atPath: part)
    let checkpoint = Checkpoint(
      url: url, completeLength: start.length, validator: Validator(text: validator),
      durable: ByteRanges(0..<start.durable), part: ".file.haul-part-1",
      inode: (attributes[.systemFileNumber] as? UInt64) ?? 0)
    return try ResumeData(json: checkpoint.resumeData())
  }
}
