/// What one request has taken, and over which connection it went.
public struct RequestMetrics: Sendable, Hashable {
  /// The URL that was asked for: the original one, or one that a redirect named.
  public var url: String
  /// The status code of the response; nil where none came, and for FTP.
  public var status: Int?
  /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`; nil where no response came, and for FTP.
  public var protocolVersion: String?
  /// The address of the server, or of the proxy where there is one; nil where no connection was made.
  public var remoteAddress: IPAddress?
  /// The port of ``remoteAddress``.
  public var remotePort: Int?
  /// Whether the connection had served an earlier request.
  public var isReusedConnection = false
  /// How long it took to resolve the host's name; nil where the connection was reused, or the name was not resolved.
  public var nameLookup: Duration?
  /// How long it took to make the TCP connection; nil where it was reused, or not made.
  public var connect: Duration?
  /// How long the TLS or SSH handshake took; nil where there was none.
  public var tls: Duration?
  /// How long the server took from the request to the first byte of its response; nil where none came.
  public var firstByte: Duration?
  /// From the start to the last byte, waits of a limited rate included.
  public var total = Duration.zero
  /// Bytes of the body.
  public var received: Int64 = 0

  /// Metrics of a request for `url`, without other facts.
  public init(url: String) { self.url = url }
}
