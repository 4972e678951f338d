import TestSupport
import Testing

@testable import HaulTransfer

/// A server from a public bug report of another program, and what must come of it.
struct FieldReport: Sendable, CustomTestStringConvertible {
  /// What is there when the job begins.
  enum Start: Sendable {
    /// Nothing.
    case nothing
    /// The first half, under the file's tag.
    case half
    /// Every byte, though nobody has said that it is the file.
    case all
  }

  /// What must come of it.
  enum Outcome: Sendable, Equatable {
    /// The file, what the server has instead of it by then, or one of no bytes.
    case file, newFile, emptyFile
    /// A failure of this class, with the half still there.
    case fails(TransferError.Class)

    /// For the page.
    var text: String {
      switch self {
      case .file: "right"
      case .newFile: "right: the new file"
      case .emptyFile: "right: an empty file"
      case .fails(let errorClass): "fails as `\(errorClass.rawValue)`; nothing is lost"
      }
    }
  }

  /// `owner/name#number` on GitHub.
  let source: String
  /// What the server does, for the page.
  let what: String
  var start = Start.half
  var outcome = Outcome.file
  let answer: @Sendable (OriginRequest, OriginReply) throws -> Void

  var testDescription: String { source }

  init(
    _ source: String, _ what: String, from start: Start = .half, brings outcome: Outcome = .file,
    _ answer: @escaping @Sendable (OriginRequest, OriginReply) throws -> Void
  ) {
    self.source = source
    self.what = what
    self.start = start
    self.outcome = outcome
    self.answer = answer
  }

  static let file = Source(seed: 1, length: 160_000)
  static let new = Source(seed: 2, length: 150_000)
  static let half: Int64 = 80_000

  private static let tag = "ETag: \(file.entityTag ?? "")"
  private static let all = file.bytes(in: 0..<file.length)

  /// The bytes that are asked for; nil where all are.
  private static func range(_ request: OriginRequest) -> Range<Int64>? {
    let ends = request[field: "Range"]?.dropFirst("bytes=".count).split(separator: "-")
      .compactMap { Int64($0) }
    guard let ends, ends.count == 2 else { return nil }
    return ends[0]..<ends[1] + 1
  }

  /// Answers ranges as `part` does, and all else correctly.
  private static func ranges(
    _ part: @escaping @Sendable (Range<Int64>, OriginRequest, OriginReply) throws -> Void
  ) -> @Sendable (OriginRequest, OriginReply) throws -> Void {
    { request, reply in
      guard let range = range(request) else { return try file.answer(request, reply) }
      try part(range, request, reply)
    }
  }

  /// Sends the head of an answer that carries `range`, with this Content-Length.
  private static func part(
    _ reply: OriginReply, _ range: Range<Int64>, length: Int64,
    status: String = "206 Partial Content"
  ) throws {
    try reply.head(
      "HTTP/1.1 \(status)\n\(tag)\nContent-Length: \(length)\n"
        + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.length)")
  }

  private static func status(_ line: String)
    -> @Sendable (
      Range<Int64>, OriginRequest, OriginReply
    ) throws -> Void
  {
    { _, _, reply in try reply.head("HTTP/1.1 \(line)\nContent-Length: 0") }
  }

  // MARK: - Ranges that are no ranges

  static let ranges: [FieldReport] = [
    FieldReport(
      "rust-lang/rustup#4710", "It ignores the range, and answers 200 with the whole file.",
      ranges { _, _, reply in try file.whole(reply) }),
    FieldReport(
      "huggingface/huggingface_hub#3778",
      "If the client accepts gzip, it ignores the range and sends 200 with a compressed body.",
      { request, reply in
        if request[field: "Accept-Encoding"]?.contains("gzip") != true {
          return try file.answer(request, reply)
        }
        var encoded = new
        encoded.contentEncoding = "gzip"
        try encoded.whole(reply)
      }),
    FieldReport(
      "modelscope/modelscope_hub#50",
      "It sends the range with the right Content-Range, but with 200 instead of 206.",
      ranges { range, _, reply in
        try part(reply, range, length: Int64(range.count), status: "200 OK")
        try reply.body(file.bytes(in: range))
      }),
    FieldReport(
      "xroche/httrack#428",
      "A cache sends its whole block, which starts before the requested range.",
      ranges { range, _, reply in
        let start = range.lowerBound / 65_536 * 65_536
        try file.part(reply, start..<range.upperBound)
      }),
    FieldReport(
      "jizhi0v0/duo-updater#245", "It answers 206 with the whole file.",
      ranges { _, _, reply in try file.part(reply, 0..<file.length) }),
    FieldReport(
      "ddvk/rmfakecloud#7", "It answers 206 with the whole file and without Content-Range.",
      ranges { _, _, reply in
        try reply.head("HTTP/1.1 206 Partial Content\n\(tag)\nContent-Length: \(file.length)")
        try reply.body(all)
      }),
    FieldReport(
      "cherokee/webserver#1277", "It answers 206 with the range, but without Content-Range.",
      ranges { range, _, reply in
        try reply.head("HTTP/1.1 206 Partial Content\n\(tag)\nContent-Length: \(range.count)")
        try reply.body(file.bytes(in: range))
      }),
    FieldReport(
      "rust-lang/crates.io#13159", "It sends a Content-Range whose end is before its start.",
      ranges { range, _, reply in
        try reply.head(
          "HTTP/1.1 206 Partial Content\n\(tag)\nContent-Length: 0\n"
            + "Content-Range: bytes \(range.lowerBound)-\(range.lowerBound - 1)/\(file.length)")
      }),
    FieldReport(
      "httpie/cli#515", "It sends a Content-Range without an end, and no body.",
      ranges { range, _, reply in
        try reply.head(
          "HTTP/1.1 206 Partial Content\n\(tag)\nContent-Length: 0\n"
            + "Content-Range: bytes \(range.lowerBound)-/\(file.length)")
      }),
    FieldReport(
      "eikek/sharry#1163", "It sends each range without its last byte.",
      ranges { range, _, reply in
        try part(reply, range, length: Int64(range.count - 1))
        try reply.body(file.bytes(in: range.lowerBound..<range.upperBound - 1))
      }),
    FieldReport(
      "DaveRandom/Resume#3",
      "It sends the range with the Content-Length of the whole file, then closes.",
      ranges { range, _, reply in
        try part(reply, range, length: file.length)
        try reply.body(file.bytes(in: range))
        reply.close()
      }),
    FieldReport(
      "web2py/web2py#2592", "It answers 206 with a negative Content-Length.",
      ranges { range, _, reply in
        try reply.head(
          "HTTP/1.1 206 Partial Content\n\(tag)\nContent-Length: -5\n"
            + "Content-Range: bytes \(range.lowerBound)-\(range.lowerBound - 6)/\(file.length)")
        reply.close()
      }),
    FieldReport(
      "emikulic/darkhttpd#80", "It answers range requests with 404 and a page.",
      ranges { _, _, reply in
        try reply.head("HTTP/1.1 404 Not Found\nContent-Type: text/html\nContent-Length: 9")
        try reply.body("not found")
      }),
    FieldReport(
      "invoke-ai/InvokeAI#9432",
      "It answers 416 without Content-Range, although the requested bytes exist.",
      ranges(status("416 Range Not Satisfiable"))),
    FieldReport(
      "nextcloud/updater#671",
      "It answers 416 to a range that begins at the end of the file.", from: .all,
      ranges(status("416 Range Not Satisfiable"))),
    FieldReport(
      "AntennaPod/AntennaPod#2550",
      "It answers 500 to a range that begins at byte 0.", from: .nothing,
      ranges(status("500 Broken"))),
    FieldReport(
      "evanmiller/mod_zip#84", "It closes the connection without an answer to a range request.",
      ranges { _, _, reply in reply.close() }),
  ]

  // MARK: - Files that change, and tags that lie

  static let changes: [FieldReport] = [
    FieldReport(
      "BitMiracle-AI/Dormice#86",
      "It ignores If-Range and sends a range of a newer file, with the new ETag.",
      brings: .newFile,
      { request, reply in
        guard let range = range(request) else { return try new.answer(request, reply) }
        try new.part(reply, range.lowerBound..<new.length)
      }),
    FieldReport(
      "owncloud/client#2280",
      "The file has become shorter, so the server answers 416.", brings: .newFile,
      { request, reply in
        let short = Source(seed: 2, length: new.length)
        guard range(request) != nil else { return try short.answer(request, reply) }
        try reply.head(
          "HTTP/1.1 416 Range Not Satisfiable\nContent-Range: bytes */\(new.length)\nContent-Length: 0"
        )
      }),
    FieldReport(
      "sibidharan/zealphp#236", "It sends a different ETag for each range.",
      ranges { range, _, reply in try file.part(reply, range, "ETag: \"\(range.lowerBound)\"") }),
    FieldReport(
      "lingochamp/okdownload#488",
      "Each answer has a different ETag, although the file has not changed.",
      { request, reply in
        var file = file
        file.entityTag = "\"\(request.number)\""
        try file.answer(request, reply)
      }),
    FieldReport(
      "artokun/comfyui-mcp#467",
      "Each redirect leads to a different node, which sends a different ETag.",
      { request, reply in
        if request.path == "/file.zip" {
          return try reply.redirect(to: "/node/\(request.number)")
        }
        var file = file
        file.entityTag = "\"\(request.path)\""
        try file.answer(request, reply)
      }),
    FieldReport(
      "sibidharan/zealphp#362",
      "It has a weak ETag but answers ranges with 206. The connection breaks once.",
      from: .nothing,
      { request, reply in
        var file = file
        file.entityTag = "W/\"same\""
        try file.answer(request, reply, cut: request.number == 1 ? .close(after: half) : nil)
      }),
    FieldReport(
      "AnInsomniacy/aria2-next#46",
      "It redirects to a signed URL that has expired (403). The next redirect works.",
      { request, reply in
        if request.path == "/file.zip" {
          return try reply.redirect(to: "/signed/\(request.number)")
        }
        if request.number < 3 {
          return try reply.head("HTTP/1.1 403 Expired\nContent-Length: 0")
        }
        try file.answer(request, reply)
      }),
    FieldReport(
      "apache/texera#3837", "The signed URL of the job itself has expired (403).",
      brings: .fails(.http403),
      { _, reply in try reply.head("HTTP/1.1 403 Expired\nContent-Length: 0") }),
  ]

  // MARK: - Ends that are none

  static let ends: [FieldReport] = [
    FieldReport(
      "httpie/cli#147",
      "A proxy ends each answer before its Content-Length is reached.", from: .nothing,
      { request, reply in try file.answer(request, reply, cut: .close(after: 60_000)) }),
    FieldReport(
      "cernopendata/cernopendata-client#140",
      "Each connection breaks after a small part of the file.",
      from: .nothing,
      { request, reply in try file.answer(request, reply, cut: .reset(after: 30_000)) }),
    FieldReport(
      "xroche/httrack#840", "Each chunked answer ends between two chunks.", from: .nothing,
      brings: .fails(.interrupted),
      { _, reply in
        try reply.head("HTTP/1.1 200 OK\n\(tag)\nTransfer-Encoding: chunked")
        try reply.chunk(Array(all.prefix(50_000)))
        reply.close()
      }),
    FieldReport(
      "novoda/download-manager#200", "The first chunked answer ends within a chunk.",
      from: .nothing,
      { request, reply in
        guard request.number == 1 else { return try file.answer(request, reply) }
        try reply.head("HTTP/1.1 200 OK\n\(tag)\nTransfer-Encoding: chunked")
        try reply.body("fffff\r\n")
        try reply.body(Array(all.prefix(50_000)))
        reply.close()
      }),
    FieldReport(
      "httpie/cli#1642",
      "It sends a compressed body with the Content-Length of the compressed data.", from: .nothing,
      { _, reply in
        var encoded = file
        encoded.contentEncoding = "gzip"
        try encoded.whole(reply)
      }),
    FieldReport(
      "axel-download-accelerator/axel#391",
      "The last bytes never arrive, and the connection stays open.",
      from: .nothing,
      { request, reply in
        let isFirst = request.number == 1
        try file.answer(
          request, reply,
          cut: isFirst ? .hold(after: 159_000) { try $0.waitUntilPeerCloses() } : nil)
      }),
    FieldReport(
      "italolelis/seedbox_downloader#11",
      "After half of the file, it sends an error page with status 200.",
      brings: .fails(.suspectPage),
      { _, reply in
        try reply.head("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 5")
        try reply.body("error")
      }),
    FieldReport(
      "ipfs/kubo#9241", "The file is empty.", from: .nothing, brings: .emptyFile,
      { _, reply in try reply.head("HTTP/1.1 200 OK\n\(tag)\nContent-Length: 0") }),
    FieldReport(
      "joryirving/home-ops#9719",
      "It resets every connection after a while, without an explanation.",
      { request, reply in try file.answer(request, reply, cut: .reset(after: 20_000)) }),
  ]

  static let everything = ranges + changes + ends
}
