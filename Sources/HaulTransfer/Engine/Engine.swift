import HaulSystem

/// Fetches over HTTP: one thread, one `curl_multi`. Where FTP or SFTP is allowed, these have another thread: at the end of a transfer
/// libcurl 7.88 waits there for the server's word, and would hold up all others.
///
/// Each exchange has a connection of its own, also with HTTP/2: with libcurl 7.88 a paused stream holds up
/// all others of its connection. Connections and handles are kept and reused between exchanges.
public final class Engine: Sendable {
  /// Limits and rules, the same for all exchanges of an engine.
  public struct Configuration: Sendable {
    /// For DNS, TCP and TLS together.
    public var connectTimeout = Duration.seconds(10)
    /// From the request to the end of the head.
    public var responseTimeout = Duration.seconds(60)
    /// A body must bring ``stallFloor`` bytes a second, taken over this time; while it is held back by a rate or a pause,
    /// no time runs.
    public var stallTime = Duration.seconds(60)
    /// Bytes a second. Below what any line brings, and enough that an origin which trickles holds no place for ever.
    public var stallFloor: Int64 = 100
    /// Bytes that a body must bring in each ``stallTime``.
    var stallQuota: Int64 { Int64(clamped: stallTime / .seconds(1) * Double(stallFloor)) }
    /// The most idle connections kept for reuse.
    public var maxConnections = 128
    /// The most buffers of 256 KiB in use at once, gathering or waiting for the disk.
    public var maxBuffers = 96
    /// The most bytes a second that are read of all bodies together; nil for no limit.
    public var rateLimit: RateLimit?
    /// How long an answer of DNS is kept.
    public var dnsCacheTime = Duration.seconds(60)
    /// Sent as User-Agent.
    public var userAgent = "haul/0.1"
    /// Certificates to trust instead of the system's (PEM).
    public var caFile: String?
    /// What all connections go through; nothing of the environment counts. Then the address policy judges the addresses that
    /// URLs spell out; of names only the proxy knows where they lead.
    package var proxy: ProxyAddress?
    /// Where ``proxy`` is nil: which requests go through which proxy.
    package var proxyRules: ProxyRules?
    /// Users and passwords by host, that of ``proxy`` among them.
    package var netrc: Netrc?
    /// Cookies by host.
    package var cookies: CookieFile?
    /// Which addresses may be connected to, unless a request has its own.
    public var addressPolicy = AddressPolicy.publicOnly
    /// In lower case; ftp, ftps and sftp may be added, though a ``Downloader`` has no log-in, which sftp wants. A redirect
    /// leads to http and https alone.
    public var allowedSchemes: Set<String> = ["http", "https"]
    /// The keys of the hosts that sftp may be spoken with, as OpenSSH's `known_hosts`; any other key is refused.
    public var knownHosts: String?
    /// Names answered without DNS, each `host:port:address` (libcurl: CURLOPT_RESOLVE).
    public var resolve: [String] = []

    /// The defaults.
    public init() {}
  }

  private let mailbox: EngineMailbox
  /// The mailbox for FTP and SFTP; nil if neither is allowed.
  private let fileMailbox: EngineMailbox?
  let configuration: Configuration

  /// Starts the thread.
  ///
  /// - Throws: `.io` when libcurl or the system cannot provide what an engine needs.
  package init(_ configuration: Configuration = Configuration()) throws(TransferError) {
    self.configuration = configuration
    mailbox = try EngineThread.start(configuration)
    do throws(TransferError) {
      let isWanted = !configuration.allowedSchemes.isDisjoint(with: WebURL.fileSchemes)
      fileMailbox = isWanted ? try EngineThread.start(configuration) : nil
    } catch {
      mailbox.post(.shutdown)
      throw error
    }
  }

  deinit {
    mailbox.post(.shutdown)
    fileMailbox?.post(.shutdown)
  }

  /// Runs one request; redirects are not followed.
  ///
  /// Returns when the exchange is over and every accepted body byte has been handed to the sink. Cancelling
  /// the task cancels the exchange. Nothing is thrown: see ``ExchangeResult/outcome``.
  package func perform(
    _ request: ExchangeRequest, sink: any BodySink, handle: ExchangeHandle = ExchangeHandle()
  ) async -> ExchangeResult {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let order = PendingExchange(
          request: request, sink: sink, handle: handle, continuation: continuation)
        let mailbox = request.isForFile ? fileMailbox ?? mailbox : mailbox
        if !mailbox.post(.start(order)) { order.refuse(.cancelled) }
      }
    } onCancel: {
      handle.cancel()
    }
  }

  /// Ends all exchanges as `.cancelled`, closes all connections and returns when the thread has let go of
  /// everything. A second call is no error.
  package func shutdown() async {
    await withCheckedContinuation { mailbox.shutdown($0) }
    if let fileMailbox { await withCheckedContinuation { fileMailbox.shutdown($0) } }
  }
}
