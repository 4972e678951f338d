import HaulSystem

/// Limits and rules, the same for all downloads of a downloader: ``Downloader/Configuration``.
public struct DownloaderConfiguration: Sendable {
  /// For DNS, TCP and TLS together. Default: 10 seconds.
  public var connectTimeout = Duration.seconds(10)
  /// From the request to the end of the head. Default: 60 seconds.
  public var responseTimeout = Duration.seconds(60)
  /// The time over which a body must reach ``stallFloor`` bytes a second on average. Time in which a rate or a pause holds
  /// the body back does not count. Default: 60 seconds.
  public var stallTime = Duration.seconds(60)
  /// Bytes a second. Every line is faster, and an origin that sends less cannot hold a place for ever. Default: 100.
  public var stallFloor: Int64 = 100
  /// Bytes that a body must receive in each ``stallTime``.
  var stallQuota: Int64 { Int64(clamped: stallTime / .seconds(1) * Double(stallFloor)) }
  /// The most idle connections kept for reuse. Default: 128.
  public var maxConnections = 128
  /// The most buffers of 256 KiB in use at once, gathering or waiting for the disk. Default: 96.
  public var maxBuffers = 96
  /// The most bytes a second that are read of all bodies together; nil for no limit.
  public var rateLimit: RateLimit?
  /// How long an answer of DNS is kept. Default: 60 seconds.
  public var dnsCacheTime = Duration.seconds(60)
  /// Sent as User-Agent.
  public var userAgent = "haul/0.1"
  /// A file of certificates to trust instead of the system's (PEM). ``Downloader/init(_:monitor:)`` fails if it cannot be read.
  public var caFile: String?
  /// The proxy for all connections, unless a download has its own; the environment is never read. With a proxy,
  /// ``addressPolicy`` judges only addresses that URLs spell out, since the proxy resolves the names.
  public var proxy: ProxyAddress?
  /// Where servers' cookies are kept for later downloads; nil keeps them for one download only. Several downloaders may share
  /// a jar.
  public var cookieJar: CookieJar?
  /// The most downloads at once, those of queues and of ``Downloads`` included. What is started beyond it waits for its turn.
  /// Default: 64, also if all are from one host: ``DownloadQueue/maxConcurrentPerHost`` limits that. Must be positive: ``Downloader/init(_:monitor:)`` stops the program otherwise.
  public var maxConcurrent = 64
  /// Where ``proxy`` is nil: which requests go through which proxy.
  package var proxyRules: ProxyRules?
  /// Users and passwords by host, that of ``proxy`` among them.
  package var netrc: Netrc?
  /// Cookies by host.
  package var cookies: CookieFile?
  /// Which addresses may be connected to, unless a request has its own. Default: public ones alone.
  public var addressPolicy = AddressPolicy.publicOnly
  /// Default: http and https. In lower case; ftp, ftps and sftp may be added; sftp needs ``DownloadOptions/login``. A redirect
  /// leads to http and https alone.
  public var allowedSchemes: Set<String> = ["http", "https"]
  /// The keys of the hosts that sftp may be spoken with, as OpenSSH's `known_hosts`; any other key is refused.
  /// ``Downloader/init(_:monitor:)`` fails if the file cannot be read.
  public var knownHosts: String?
  /// Names answered without DNS, each `host:port:address` (libcurl: CURLOPT_RESOLVE).
  public var resolve: [String] = []

  /// The defaults.
  public init() {}
}
