import Foundation
import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// What an origin holds; the module under test has a type of that name too.
typealias Source = TestSupport.Representation

/// Where a test's part transfers run, and all that their owner sees.
final class PartTransferBench: Sendable {
  let scratch: Scratch
  let io: IOPool
  /// What was handed to `save`, in order.
  let saved = Watched<[Checkpoint]>([])
  /// Rulings in order, as `5 changed`.
  let rulings = Watched<[String]>([])

  init(threads: Int = 2) throws {
    scratch = try Scratch()
    io = try IOPool(threads: threads)
  }

  /// A transfer into `part`, not yet begun.
  func transfer(
    _ url: String, engine: Engine,
    _ change: (inout TransferRequest) throws -> Void = { _ in },
    save: PartTransfer.Save? = nil
  ) throws -> PartTransfer {
    var order = TransferRequest(
      url: try WebURL(url, schemes: WebURL.knownSchemes), parts: try scratch.parts(),
      partName: "part")
    // The disk of a machine that runs tests may be busy.
    order.stopTime = .seconds(30)
    try change(&order)
    return PartTransfer(
      order, engine: engine, io: io,
      save: { [saved] checkpoint in
        saved.update { $0.append(checkpoint) }
        return await save?(checkpoint) ?? true
      },
      observe: { [rulings] row, verdict in rulings.update { $0.append("\(row) \(verdict)") } })
  }

  /// What an earlier attempt left: the first `durable` bytes of `source`, and their record.
  func earlier(
    of source: Source, durable: Int64, name: String = "part"
  ) throws -> (checkpoint: Checkpoint, part: PartFile) {
    let part = try scratch.parts().create(name)
    try source.pattern.bytes(in: 0..<durable).withUnsafeBytes { try part.write($0, at: 0) }
    let validator = try #require(source.validator)
    let checkpoint = Checkpoint(
      completeLength: source.length, validator: validator,
      contentEncoding: source.contentEncoding, mediaType: source.contentType,
      durable: ByteRanges(0..<durable), part: "an older name", inode: part.inode)
    return (checkpoint, part)
  }

  /// All of a small part.
  func text(_ part: PartFile) throws -> String {
    var bytes = [UInt8](repeating: 0, count: Int(try part.size()))
    _ = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: 0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The last record saved, with its part opened anew, as another process would.
  func leftBehind() throws -> (checkpoint: Checkpoint, part: PartFile) {
    let checkpoint = try #require(saved.value.last)
    let part = try scratch.parts().open(
      checkpoint.part, inode: checkpoint.inode, holding: checkpoint.durable.end,
      of: checkpoint.completeLength)
    return (checkpoint, try #require(part))
  }
}

extension Source {
  /// What a resume of it is conditional on.
  var validator: Validator? {
    (entityTag ?? lastModified.map(httpDate)).flatMap { Validator(text: $0) }
  }

  /// A 206 with these bytes, told as `contentRange`, with `fields` besides.
  func part(
    _ reply: OriginReply, _ bytes: Range<Int64>, told contentRange: String? = nil,
    _ fields: String? = nil
  ) throws {
    let told = contentRange ?? "\(bytes.lowerBound)-\(bytes.upperBound - 1)/\(length)"
    try reply.head(
      "HTTP/1.1 206 Partial Content\nContent-Range: bytes \(told)\nContent-Length: \(bytes.count)\n"
        + (fields ?? "ETag: \(entityTag ?? "none")"))
    try reply.body(pattern.bytes(in: bytes))
  }

  /// The handler: a correct answer.
  var handler: OriginServer.Handler {
    { request, reply in try answer(request, reply) }
  }

  func digest(_ algorithm: DigestAlgorithm) -> [UInt8] {
    guard let context = try? DigestContext(algorithm) else { return [] }
    pattern.bytes(in: 0..<length).withUnsafeBytes { context.update($0) }
    return context.finish()
  }

  /// A 200 with all of it.
  func whole(_ reply: OriginReply) throws {
    try reply.head("HTTP/1.1 200 OK\n" + fields(of: 0..<length))
    try send(0..<length, reply)
  }
}

extension OriginReply {
  func redirect(to location: String) throws {
    try head("HTTP/1.1 302 Found\nLocation: \(location)\nContent-Length: 0")
  }

  /// Sends a body without its length: in chunks, or up to the end of the connection. `isCut`: the last chunk is missing.
  func unsized(
    _ head: String, _ bytes: [UInt8], inChunks: Bool, isCut: Bool = false
  ) throws {
    try self.head("\(head)\n" + (inChunks ? "Transfer-Encoding: chunked" : "Connection: close"))
    if inChunks { try chunk(bytes) } else { try body(bytes) }
    if inChunks, !isCut { return try chunk([]) }
    close()
  }
}

extension PartDirectory {
  /// The part of that name, whatever it holds.
  func open(_ name: String) throws -> PartFile? {
    guard let inode = try directory.status(of: name)?.inode else { return nil }
    return try open(name, inode: inode, holding: 0, of: .max)
  }
}

extension OriginRequest {
  /// `whole`, `0-99`, or `0-99 if` with an If-Range.
  var asked: String {
    guard let range = self[field: "Range"] else { return "whole" }
    return range.dropFirst("bytes=".count) + (self[field: "If-Range"] == nil ? "" : " if")
  }
}

extension OriginServer {
  /// What each request asked for, in order.
  var asked: [String] { log.value.exchanges.map(\.request.asked) }

  /// Answers each request with the next of `answers`, and with 500 when there are no more.
  convenience init(answering answers: [Handler]) throws {
    try self.init { request, reply in
      guard request.number <= answers.count else {
        return try reply.head("HTTP/1.1 500 Not in the script\nContent-Length: 0")
      }
      try answers[request.number - 1](request, reply)
    }
  }
}

extension TransferOutcome {
  var error: TransferError? {
    if case .failed(let error) = self { error } else { nil }
  }

  var isStopped: Bool {
    if case .stopped = self { true } else { false }
  }

  var isLost: Bool {
    if case .lost = self { true } else { false }
  }

  /// Whether it is complete with exactly the bytes of `source`.
  func holds(_ source: Source) throws -> Bool {
    guard case .complete(let part, let length) = self else {
      Issue.record("\(self)")
      return false
    }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let count = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: 0) }
    #expect(try part.size() == length)
    #expect(count == length && length == source.length)
    return source.pattern.firstDifference(of: bytes, at: 0) == nil
  }
}
