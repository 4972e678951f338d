/// An HTTP method.
package enum RequestMethod: String, Sendable {
  case get = "GET"
  case head = "HEAD"
  case post = "POST"
  case put = "PUT"
}

/// One HTTP request, or one file by FTP or SFTP. Redirects are not followed.
package struct ExchangeRequest: Sendable {
  /// Absolute; ``WebURL/text`` makes sure that what was checked is what is fetched.
  package var url: String
  /// Request fields as decided by the caller: Range, If-Range, Accept-Encoding, Authorization. To FTP and SFTP they mean what
  /// ``FileRequest`` makes of them.
  package var fields: [ResponseHead.Field]
  /// Overrides the engine's policy for this exchange; nil takes the engine's.
  package var addressPolicy: AddressPolicy?
  /// The most bytes a second that are read of the body, besides what the engine allows; nil for no limit.
  package var rateLimit: RateLimit?
  /// The cookies that libcurl may send, each a line of the Netscape format; it chooses by host, path, scheme and expiry, and
  /// adds to them what the server sets.
  package var cookies: [String] = []
  /// What proves who asks, where the server wants to know it in the TLS handshake.
  package var certificate: ClientCertificate?
  /// The user and password for HTTP Digest (RFC 7616); nil to send none. (libcurl: CURLAUTH_DIGEST)
  package var digest: Login?
  /// The login for FTP and SFTP; nil is anonymous.
  package var login: Login?
  /// Overrides the engine's ``DownloaderConfiguration/connectTimeout``.
  package var connectTimeout: Duration?
  /// Overrides both the engine's ``DownloaderConfiguration/responseTimeout`` and its ``DownloaderConfiguration/stallTime``.
  package var stallTimeout: Duration?
  /// The method. To FTP and SFTP it means nothing.
  package var method = RequestMethod.get
  /// The body of a POST or PUT; nil for the other methods.
  package var body: [UInt8]?
  /// Overrides the engine's proxies.
  package var proxy: ProxyAddress?
  /// Whether it opens a connection of its own, and takes none that is there. (libcurl: CURLOPT_FRESH_CONNECT)
  package var isFresh = false
  /// Whether the engine alone reads the response's length, which libcurl refuses where it is folded.
  /// (libcurl: CURLOPT_IGNORE_CONTENT_LENGTH)
  var measuresItself = false
  /// The share of the engine's buffers that its body uses. All exchanges that write to one disk have the same.
  package var share: ObjectIdentifier?

  /// A request made of its parts.
  package init(
    url: String, fields: [ResponseHead.Field] = [], addressPolicy: AddressPolicy? = nil,
    rateLimit: RateLimit? = nil
  ) {
    self.url = url
    self.fields = fields
    self.addressPolicy = addressPolicy
    self.rateLimit = rateLimit
  }

  /// Reads the head of its response.
  var headParser: HeadParser {
    HeadParser(
      isSecure: url.lowercased().hasPrefix("https:"), isForHead: method == .head,
      isMeasured: measuresItself)
  }

  /// Whether another protocol than HTTP is spoken.
  var isForFile: Bool {
    WebURL.fileSchemes.contains(url.prefix { $0 != ":" }.lowercased())
  }
}

/// What a sink says to a head.
package enum HeadVerdict: Sendable {
  case accept
  /// The body is the sink's, and none of it comes before ``ExchangeHandle/resume()``.
  case acceptLater
  /// The body is none of the sink's. The engine reads what is short to its end, for the connection's sake, and closes the
  /// connection otherwise.
  case reject
}

/// What a sink says to a piece of body.
package enum BodyVerdict: Sendable {
  case more
  /// The sink is behind: nothing more until ``ExchangeHandle/resume()``.
  case pause
  /// Ends the exchange at once.
  case stop
}

/// Where an exchange's answer goes. Called on the engine thread only, and must not block it.
package protocol BodySink: AnyObject, Sendable {
  /// The final head, once, before any body byte.
  func head(_ head: ResponseHead) -> HeadVerdict

  /// The next bytes of the body; the sink owns the buffer from here on.
  ///
  /// While paused it is not called, except once at the end of the exchange with bytes that were gathered already. Then the
  /// verdict counts only if it is `.stop`.
  func body(_ buffer: GatherBuffer) -> BodyVerdict
}

/// How an exchange ended, and with what.
package struct ExchangeResult: Sendable {
  /// The final head, if one came.
  package var head: ResponseHead?
  package var outcome: ExchangeOutcome
  /// Body bytes handed to the sink.
  package var bytes: Int64
  /// The beginning of the body after a head that the sink rejected. Empty if none of it was read.
  package var refusedBody: [UInt8] = []
  /// The request's cookies and those that the server has set, without what has expired.
  package var cookies: [String] = []
  /// The address the connection went to; nil if there was none.
  package var primaryAddress: String?
  /// The addresses that the policy refused, even if another one answered.
  package var refusedAddresses: [String]
  /// What it took; nil if it did not begin.
  package var metrics: RequestMetrics?
}

/// How an exchange ended.
package enum ExchangeOutcome: Sendable, Equatable {
  /// The framing says so: Content-Length met, last chunk seen, or HTTP/2 END_STREAM.
  case complete
  /// The peer closed the connection, and no length stated the end (RFC 9112 §6.3): this proves nothing.
  case closed
  /// The peer closed the connection as in `closed`, but TLS announced no end (RFC 8446 §6.1): anybody on the way may have cut it.
  case cut
  /// The body ended early or its framing broke. What came before is valid.
  case truncated(String)
  /// After the head, fewer bytes than the floor for too long. What came before is valid.
  case stalled(String)
  /// ``BodySink/head(_:)`` said `.reject`.
  case rejected
  /// ``BodySink/body(_:)`` said `.stop`.
  case stopped
  /// By ``ExchangeHandle/cancel()``, the task's cancellation or the engine's shutdown.
  case cancelled
  /// No usable head.
  case failed(TransferError)
}
