import Synchronization

/// Named representations that may be replaced or removed while they are being served.
///
///     let site = Site(["/file": Representation(seed: 1, length: 1_000_000)])
///     let origin = try OriginServer(handler: site.answer)
package final class Site: Sendable {
  private let content: Mutex<[String: Representation]>

  package init(_ content: [String: Representation] = [:]) {
    self.content = Mutex(content)
  }

  /// Answers that have begun go on with what they began with.
  package subscript(path: String) -> Representation? {
    get { content.withLock { $0[path] } }
    set { content.withLock { $0[path] = newValue } }
  }

  /// The handler: a correct answer, or 404.
  package func answer(_ request: OriginRequest, _ reply: OriginReply) throws {
    guard let representation = self[request.path] else {
      return try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
    }
    try representation.answer(request, reply)
  }
}
