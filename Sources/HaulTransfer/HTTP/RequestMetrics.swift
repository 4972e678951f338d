/// The times, bytes and connection of one request.
public struct RequestMetrics: Sendable, Hashable {
  /// The requested URL: the original URL, or the target of a redirect.
  public var url: String
  /// The status code of the response; nil if no response came, and for FTP.
  public var status: Int?
  /// The HTTP version, `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`; nil if no response came, and for FTP.
  public var protocolVersion: String?
  /// The address of the server, or of the proxy if the connection goes through one; nil if no connection was made.
  public var remoteAddress: IPAddress?
  /// The port of ``remoteAddress``; nil if no connection was made.
  public var remotePort: Int?
  /// Whether the connection was reused from an earlier request.
  public var isReusedConnection = false
  /// The time to resolve the host's name; nil if the connection was reused, or the name was not resolved.
  public var nameLookup: Duration?
  /// The time to make the TCP connection; nil if the connection was reused, or not made.
  public var connect: Duration?
  /// The time of the TLS or SSH handshake; nil if there was none.
  public var tls: Duration?
  /// The time from the request to the first byte of its response; nil if no response came.
  public var firstByte: Duration?
  /// The time from the start of the request to the last byte of the response, including waits for a rate limit.
  public var total = Duration.zero
  /// The number of bytes of the body.
  public var received: Int64 = 0

  /// Creates the metrics of a request for `url`, without other values.
  public init(url: String) { self.url = url }
}
