public import FoundationEssentials
import HaulSystem
import Synchronization

/// Functions for responses without a file.
extension Downloader {
  /// Downloads a small body into memory. Haul creates no file, so options about files have no effect.
  ///
  /// The rules of a download apply: a status such as 404 is an error, Haul follows redirects, resumes after a broken
  /// connection, and checks the digest. The call does not wait for a turn, and monitors do not receive its events. Cancelling
  /// the task cancels the call.
  ///
  /// - Returns: The whole body, as it was sent, and the last response that carried bytes of it.
  /// - Throws: `CancellationError` if the task was cancelled, the error that ``DownloadOptions/validate`` threw, or a
  ///   ``TransferError``. The class is `tooLarge` if the body has more bytes than ``DownloadOptions/maximumLength`` (16 MiB if
  ///   that option is nil), and `blockedURL` if the scheme of the URL is not http or https.
  public func data(
    from url: String, options: DownloadOptions
  ) async throws -> (Data, DownloadResponse) {
    var options = options
    options.maximumLength = options.maximumLength ?? 16 << 20
    return try await response(to: url, options)
  }

  /// Sends a HEAD request and returns its response. Options about the method, the body and files have no effect.
  ///
  /// - Throws: The errors of ``data(from:options:)``. A server that does not support HEAD answers with a status such as 405,
  ///   which is an error.
  public func head(
    _ url: String, options: DownloadOptions
  ) async throws -> DownloadResponse {
    var options = options
    options.digest = nil
    options.maximumLength = nil
    return try await response(to: url, options, method: .head).1
  }

  /// Returns the response, or throws a `timeout` error after the time limit of the options.
  private func response(
    to url: String, _ options: DownloadOptions, method: RequestMethod? = nil
  ) async throws -> (Data, DownloadResponse) {
    let work = ResponseWork(engine: engine, io: io, url: url, options: options, method: method)
    do {
      guard let timeout = options.timeout else { return try await work.run() }
      return try await withThrowingTaskGroup(of: (Data, DownloadResponse).self) { group in
        group.addTask { try await work.run() }
        group.addTask {
          try await Task.sleep(for: timeout.clamped)
          throw TransferError(.timeout, "the response did not finish within \(timeout)")
        }
        defer { group.cancelAll() }
        for try await response in group { return response }
        throw CancellationError()
      }
    } catch let error as TransferError where error.errorClass == .cancelled && Task.isCancelled {
      throw CancellationError()
    }
  }
}

/// Fetches a response into memory.
private struct ResponseWork: Sendable {
  /// The last response, and the error of the program's check.
  private final class Seen: Sendable {
    let response = Mutex<DownloadResponse?>(nil)
    /// The error that ``DownloadOptions/validate`` threw.
    let refusal = Mutex<(any Error)?>(nil)
  }

  let engine: Engine
  let io: IOPool
  let url: String
  let options: DownloadOptions
  /// The method; nil uses the method of the options.
  let method: RequestMethod?

  func run() async throws -> (Data, DownloadResponse) {
    var failures = RetryPolicy.Failures()
    while true {
      let seen = Seen()
      do throws(TransferError) {
        let body = try await fetch(seen)
        guard let response = seen.response.withLock(\.self) else {
          throw TransferError(.protocol, "the response has a body but no headers")
        }
        return (body, response)
      } catch {
        if let refusal = seen.refusal.withLock(\.self) { throw refusal }
        let delay = options.retry?.delay(
          after: error, &failures, now: .now, dice: Double.random(in: 0..<1))
        guard let delay else { throw error }
        try await Task.sleep(for: delay.clamped)
      }
    }
  }

  private func fetch(_ seen: Seen) async throws(TransferError) -> Data {
    let transfer = PartTransfer(try order(seen), engine: engine, io: io, save: { _ in true })
    switch await transfer.run() {
    case .complete(let part, let length):
      return try await io.run { () throws(TransferError) in try part.bytes(Int(clamping: length)) }
    case .unchanged: return Data()
    case .failed(let error): throw error
    case .stopped, .lost: throw TransferError(.cancelled, "the request was cancelled")
    }
  }

  private func order(_ seen: Seen) throws(TransferError) -> TransferRequest {
    var order = try TransferRequest(try WebURL(url), options, partName: "body") {
      (name, _) throws(TransferError) in
      try PartFile.inMemory(name)
    }
    if let method { (order.method, order.body) = (method, nil) }
    order.onRedirect = { [options] in options.refusal(of: $0, $1, to: $2) }
    order.onResponse = { [options] head, url in
      let response = DownloadResponse(head, from: url)
      seen.response.withLock { $0 = response }
      do {
        try options.validate?(response)
        return nil
      } catch {
        seen.refusal.withLock { $0 = error }
        return TransferError(refused: response, error)
      }
    }
    return order
  }
}

extension PartFile {
  /// Returns the first `count` bytes.
  fileprivate func bytes(_ count: Int) throws(TransferError) -> Data {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
    defer { unsafe bytes.deallocate() }
    guard try unsafe read(into: bytes, at: 0) == count else {
      throw TransferError(.io, "the body in memory ends before byte \(count)")
    }
    return unsafe Data(bytes)
  }
}
