/// An HTTP method.
package enum RequestMethod: String, Sendable {
  case get = "GET"
  case head = "HEAD"
  case post = "POST"
  case put = "PUT"
}

/// One HTTP request, or one file over FTP or SFTP. Redirects are not followed.
package struct ExchangeRequest: Sendable {
  /// The absolute URL. Use ``WebURL/wire``, so that libcurl requests the URL that Haul has checked.
  package var url: String
  /// The request fields that the caller chose, such as Range, If-Range, Accept-Encoding and Authorization. ``FileRequest`` says
  /// how FTP and SFTP use these fields.
  package var fields: [ResponseHead.Field]
  /// The address policy of this exchange; nil for the engine's policy.
  package var addressPolicy: AddressPolicy?
  /// The limit in bytes per second for the body; nil for no limit. The engine's limit applies too.
  package var rateLimit: RateLimit?
  /// The cookies that libcurl may send, each as a line of the Netscape format. libcurl chooses by host, path, scheme and
  /// expiry, and adds the cookies that the server sets.
  package var cookies: [String] = []
  /// The client certificate, for servers that ask for one in the TLS handshake; nil for none.
  package var certificate: ClientCertificate?
  /// The user and password for HTTP Digest (RFC 7616); nil to send none. (libcurl: CURLAUTH_DIGEST)
  package var digest: Login?
  /// The login for FTP and SFTP, or nil for anonymous.
  package var login: Login?
  /// The connect time-out of this exchange; nil for the engine's ``DownloaderConfiguration/connectTimeout``.
  package var connectTimeout: Duration?
  /// The time-out that replaces both ``DownloaderConfiguration/responseTimeout`` and ``DownloaderConfiguration/stallTime`` of
  /// the engine; nil for the engine's values.
  package var stallTimeout: Duration?
  /// The HTTP method. FTP and SFTP ignore the method.
  package var method = RequestMethod.get
  /// The body of a POST or PUT; nil for the other methods.
  package var body: [UInt8]?
  /// The proxy of this exchange; nil for the engine's proxies.
  package var proxy: ProxyAddress?
  /// Whether the exchange opens a new connection instead of reusing one. (libcurl: CURLOPT_FRESH_CONNECT)
  package var isFresh = false
  /// Whether only the engine reads the response's length, because libcurl refuses a folded Content-Length. (libcurl:
  /// CURLOPT_IGNORE_CONTENT_LENGTH)
  var engineReadsLength = false
  /// The key of the share: exchanges with the same key share a part of the engine's buffers. Use the same key for all exchanges
  /// that write to the same disk. Exchanges with the key nil form one share, too.
  package var share: ObjectIdentifier?

  /// Creates a request.
  package init(
    url: String, fields: [ResponseHead.Field] = [], addressPolicy: AddressPolicy? = nil,
    rateLimit: RateLimit? = nil
  ) {
    self.url = url
    self.fields = fields
    self.addressPolicy = addressPolicy
    self.rateLimit = rateLimit
  }

  /// A new parser for the response's head.
  var headParser: HeadParser {
    HeadParser(
      isSecure: url.lowercased().hasPrefix("https:"), isForHead: method == .head,
      engineReadsLength: engineReadsLength)
  }

  /// Whether the URL's scheme is ftp, ftps or sftp.
  var isForFile: Bool {
    WebURL.fileSchemes.contains(url.prefix { $0 != ":" }.lowercased())
  }
}

/// A sink's answer to a response head.
package enum HeadVerdict: Sendable {
  case accept
  /// The sink accepts the body, but the engine passes no byte of the body to the sink before ``ExchangeHandle/resume()``.
  case acceptLater
  /// The sink does not want the body. If the body has at most 64 KiB and arrives within 1 second, the engine reads the whole
  /// body, to keep the connection open. Otherwise the engine closes the connection.
  case reject
}

/// A sink's answer to a piece of the body.
package enum BodyVerdict: Sendable {
  case more
  /// The sink cannot take more bytes now. The engine passes no more bytes to the sink before ``ExchangeHandle/resume()``.
  case pause
  /// The sink ends the exchange immediately.
  case stop
}

/// Receives the response of an exchange. The engine calls the methods of this protocol on the engine thread only, so the
/// methods must not block.
package protocol BodySink: AnyObject, Sendable {
  /// Receives the final head once, before any body byte.
  func head(_ head: ResponseHead) -> HeadVerdict

  /// Receives the next bytes of the body. The sink owns the buffer from here on.
  ///
  /// The engine does not call this method while the sink is paused, with one exception. At the end of the exchange, the engine
  /// passes the bytes that it had already collected. In that call, only the verdict `.stop` has an effect.
  func body(_ buffer: GatherBuffer) -> BodyVerdict
}

/// The result of an exchange: its outcome, and the data from the server.
package struct ExchangeResult: Sendable {
  /// The head of the final response; nil if none arrived.
  package var head: ResponseHead?
  package var outcome: ExchangeOutcome
  /// The number of body bytes passed to the sink.
  package var bytes: Int64
  /// The beginning of a body that the sink rejected; empty if no byte was read.
  package var refusedBody: [UInt8] = []
  /// The cookies of the request and the cookies that the server set, without expired ones.
  package var cookies: [String] = []
  /// The address that the connection went to, or nil if there was no connection.
  package var primaryAddress: String?
  /// The addresses that the policy refused. The list contains them even if the server answered at another address.
  package var refusedAddresses: [String]
  /// The measurements of the exchange; nil if the exchange did not begin.
  package var metrics: RequestMetrics?
}

/// How an exchange ended.
package enum ExchangeOutcome: Sendable, Equatable {
  /// The body is proven complete: it reached its Content-Length, its last chunk, or HTTP/2 END_STREAM.
  case complete
  /// The server closed the connection, and the response gave no length (RFC 9112 §6.3). This does not prove that the body is
  /// complete.
  case closed
  /// The server closed a TLS connection without a close_notify (RFC 8446 §6.1), and the response gave no length. An attacker on
  /// the network may have cut the connection.
  case cut
  /// The body ended early or its framing was invalid. The bytes received before are valid.
  case truncated(String)
  /// After the head, the body was slower than ``DownloaderConfiguration/stallFloor`` for the time
  /// ``DownloaderConfiguration/stallTime``. The bytes that arrived before are valid.
  case stalled(String)
  /// The sink answered `.reject` in ``BodySink/head(_:)``.
  case rejected
  /// The sink answered `.stop` in ``BodySink/body(_:)``.
  case stopped
  /// The exchange was cancelled by ``ExchangeHandle/cancel()``, by the task's cancellation, or by the engine's shutdown.
  case cancelled
  /// No usable head arrived. The case is `indirect` to keep the enum small, because a running exchange reads its outcome for
  /// each piece of the body.
  indirect case failed(TransferError)
}
