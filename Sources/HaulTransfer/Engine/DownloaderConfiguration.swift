import HaulSystem

/// The limits and rules for all downloads of a downloader: ``Downloader/Configuration``.
public struct DownloaderConfiguration: Sendable {
  /// The longest time for DNS, TCP and TLS together. Default: 10 seconds.
  public var connectTimeout = Duration.seconds(10)
  /// The longest time from the request to the end of the response head. Default: 60 seconds.
  public var responseTimeout = Duration.seconds(60)
  /// The period in which a body must reach ``stallFloor`` bytes per second on average. Haul does not count the
  /// time in which a rate limit or a pause stops the body. Default: 60 seconds.
  public var stallTime = Duration.seconds(60)
  /// The lowest accepted average rate of a body, in bytes per second. Without this limit, a slow server could occupy one of the
  /// concurrent downloads forever. Default: 100 bytes per second.
  public var stallFloor: Int64 = 100
  /// The number of bytes of a body that must arrive in each ``stallTime``.
  var stallQuota: Int64 { Int64(clamped: stallTime / .seconds(1) * Double(stallFloor)) }
  /// The maximum number of idle connections kept for reuse. Default: 128.
  public var maxConnections = 128
  /// The maximum number of buffers for body bytes that are not yet on the disk. Each buffer has 256 KiB. Default: 96 buffers.
  public var maxBuffers = 96
  /// The limit in bytes per second for all bodies together; nil for no limit.
  public var rateLimit: RateLimit?
  /// How long a DNS answer is cached. Default: 60 seconds.
  public var dnsCacheTime = Duration.seconds(60)
  /// The value of the User-Agent field.
  public var userAgent = "haul/0.1"
  /// A PEM file of certificates to trust; nil for the system's certificates. ``Downloader/init(_:monitor:)`` fails if the file
  /// cannot be read.
  public var caFile: String?
  /// The proxy for all connections of downloads without their own proxy; nil for none. The downloader never reads the proxy from
  /// environment variables. With a proxy, ``addressPolicy`` checks only IP addresses in URLs, since the proxy resolves the names.
  public var proxy: ProxyAddress?
  /// The jar that keeps servers' cookies for later downloads. If it is nil, Haul keeps cookies for one download only.
  /// Several downloaders may share a jar.
  public var cookieJar: CookieJar?
  /// The maximum number of concurrent downloads, including those of queues and of ``Downloads``. Further downloads wait for
  /// their turn. Default: 64, which may all be from one host. To limit the downloads per host, set
  /// ``DownloadQueue/maxConcurrentPerHost``. The number must be positive; otherwise ``Downloader/init(_:monitor:)`` stops the
  /// program.
  public var maxConcurrent = 64
  /// The rules that choose a proxy for each request. The rules apply only if ``proxy`` is nil.
  package var proxyRules: ProxyRules?
  /// The users and passwords for the hosts and for ``proxy``; nil for none.
  package var netrc: Netrc?
  /// The cookies to send to each host; nil for none.
  package var cookies: CookieFile?
  /// The policy that determines which addresses Haul may connect to. A request can have its own policy. Default: public
  /// addresses only.
  public var addressPolicy = AddressPolicy.publicOnly
  /// The allowed URL schemes, in lower case. Default: http and https. You can add ftp, ftps and sftp; sftp needs
  /// ``DownloadOptions/login``. A redirect may lead only to http and https.
  public var allowedSchemes: Set<String> = ["http", "https"]
  /// The file of accepted SFTP host keys, in the format of OpenSSH's `known_hosts`. Haul refuses servers with any other key. If
  /// it is nil, every SFTP download fails. ``Downloader/init(_:monitor:)`` fails if the file cannot be read.
  public var knownHosts: String?
  /// The host names to resolve without DNS, each as `host:port:address` (libcurl: CURLOPT_RESOLVE).
  public var resolve: [String] = []

  /// Creates a configuration with the defaults.
  public init() {}
}
