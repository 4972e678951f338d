/// The request for a transfer: what to download, how, and where to.
package struct TransferRequest: Sendable {
  /// The original URL. Each attempt starts here and follows redirects again.
  package var url: WebURL
  /// Creates an empty part file with this name. `length` is the length of the body in bytes; nil if it is not known.
  package typealias MakePart =
    @Sendable (_ name: String, _ length: Int64?) throws(TransferError) -> PartFile

  /// Creates part files. Called on a thread of the pool before the first byte of a body is written. An error ends the transfer.
  package var makePart: MakePart
  /// The name of the part file. If the source changes, the second part file gets the suffix `.1`, the third `.2`, and so on.
  package var partName: String
  /// The durable progress of an earlier attempt, and its part file, which must already have the name ``partName``; nil to start
  /// with the first byte.
  package var resuming: (checkpoint: Checkpoint, part: PartFile)?
  /// What the server said, during an earlier download, about the file that is now at the destination; nil if Haul knows nothing
  /// about such a file. If the server still has that file, the transfer ends as ``TransferOutcome/unchanged``. Haul ignores
  /// this value if ``resuming`` has durable progress.
  package var present: SourceRecord?
  /// The request fields of the job. Haul sends these fields to the origins that get ``credentials``.
  package var fields: [RequestField] = []
  /// Request fields that do not identify the user. Haul sends these fields to every origin.
  package var openFields: [HeaderField] = []
  /// The request method. After a HEAD the outcome is ``TransferOutcome/unchanged``.
  package var method = RequestMethod.get
  /// The body of a POST or PUT; nil for the other methods. Haul sends a body only once, and never resumes its response.
  package var body: [UInt8]?
  /// The proxy for all requests of the transfer; nil for the engine's proxy.
  package var proxy: ProxyAddress?
  /// Returns a login for a server that asks for one (401), or nil to give up.
  package var authenticate: (@Sendable (AuthenticationChallenge) async -> Login?)?
  /// Called for each redirect before Haul follows it. A returned error ends the transfer.
  package var onRedirect:
    (@Sendable (ResponseHead, _ from: WebURL, _ to: WebURL) -> TransferError?)?
  /// Called with the metrics of each request.
  package var onRequest: (@Sendable (RequestMetrics) -> Void)?
  /// Called for each response before Haul reads its body, on the engine thread. A returned error ends the transfer.
  package var onResponse: (@Sendable (ResponseHead, WebURL) -> TransferError?)?
  /// Checks the destination. Called on a thread of the pool when a response with the file has arrived, before Haul reads its
  /// body. An error ends the transfer.
  package var checkTarget: (@Sendable () throws(TransferError) -> Void)?
  /// Request fields that identify the user. Haul sends these fields only to the URL's own origin, and no longer after a
  /// redirect to another origin. If this array is not empty, ``DownloaderConfiguration/netrc`` is not used for that origin.
  package var credentials: [ResponseHead.Field] = []
  /// The client certificate for the TLS handshake; nil for none. Haul uses this certificate for the origins that get
  /// ``credentials``.
  package var certificate: ClientCertificate?
  /// The login for FTP, SFTP and HTTP Digest. Haul uses this login for the origins that get ``credentials``. If it is nil,
  /// Haul looks for a login in ``DownloaderConfiguration/netrc``.
  package var login: Login?
  /// The policy for the addresses of the URL's own origin; nil for the engine's policy. Redirects to other origins always
  /// follow the engine's policy.
  package var addressPolicy: AddressPolicy?
  /// Whether the host is known to answer range requests wrongly. Haul then requests no ranges.
  package var rangeUnsafe = false
  /// The number of times that the source has changed in earlier attempts. After three changes, Haul no longer resumes.
  package var changes = 0
  /// The media type that an HTTP response must have; nil for any type.
  package var expectedType: ExpectedType?
  /// The digest that the file must have before the transfer counts as complete; nil for no check.
  package var digest: ExpectedDigest?
  /// Whether to compute the file's SHA-256 while its bytes arrive, even if no digest is checked.
  package var recordsDigest = false
  /// Whether the complete file gets the modification time that the source states.
  package var takesRemoteTime = false
  /// The length of the file in bytes; nil if the caller does not know it. A body of this length is complete even if the response
  /// states no length.
  package var expectedLength: Int64?
  /// The maximum length in bytes; nil for no limit. A longer file fails.
  package var maximumLength: Int64?
  /// The limit in bytes per second for all bodies of this transfer; nil for no limit except the engine's.
  package var rateLimit: RateLimit?
  /// The longest time for making a connection; nil for the engine's limit.
  package var connectTimeout: Duration?
  /// The longest time that the source may send nothing; nil for the engine's limits.
  package var stallTimeout: Duration?
  /// Whether a body without length counts as complete when the peer closes the connection.
  package var acceptUnverifiedLength = false
  /// The number of new bytes after which Haul makes a checkpoint. It makes the checkpoint earlier if ``checkpointTime`` has
  /// passed. Default: 64 MiB.
  package var checkpointBytes: Int64 = 64 << 20
  /// The time after which Haul makes a checkpoint. Default: 5 seconds.
  package var checkpointTime = Duration.seconds(5)
  /// The time until the first checkpoint; nil for ``checkpointTime``.
  package var firstCheckpoint: Duration?
  /// The maximum time that a stop waits for a sync. If the sync takes longer, bytes after the last checkpoint are lost.
  /// Default: 500 ms.
  package var stopTime = Duration.milliseconds(500)
  /// Returns true while a call of `save` waits for an answer from the database, and false while the call waits for a disk. A
  /// stop waits for this answer without a time limit, and then saves the remaining bytes.
  package var awaitsAnswer: @Sendable () -> Bool = { false }

  /// Creates a request for a download from byte 0 without conditions, into a part file in `parts`.
  package init(url: WebURL, parts: PartDirectory, partName: String) {
    self.init(url: url, partName: partName) { (name, length) throws(TransferError) in
      try parts.make(name, of: length)
    }
  }

  /// Creates a request for a download from byte 0 without conditions, into the file that `makePart` creates.
  init(url: WebURL, partName: String, makePart: @escaping MakePart) {
    self.url = url
    self.partName = partName
    self.makePart = makePart
  }
}

/// How a transfer ended.
package enum TransferOutcome: Sendable {
  /// Every byte is written and the digest matches. The file is not synced yet.
  case complete(part: PartFile, length: Int64)
  /// The source still has the file that ``TransferRequest/present`` records, or the request was a HEAD. Haul downloaded nothing
  /// and changed no file.
  case unchanged
  /// ``PartTransfer/stop()`` was called. The bytes that could be synced in time have been saved.
  case stopped
  /// The worker has lost the lease of the job.
  case lost
  /// The transfer failed. The durable bytes have been saved.
  case failed(TransferError)
}

/// Facts about a transfer in addition to its outcome.
package struct TransferReport: Sendable, Equatable {
  /// Creates an empty report.
  package init() {}

  /// The number of bytes received over the network.
  package var fetched: Int64 = 0
  /// The byte offset at which the transfer continued an earlier attempt; 0 if it started at the beginning.
  package var resumedAt: Int64 = 0
  /// The number of times that the source has changed.
  package var changes = 0
  /// Whether the host answered a range request wrongly.
  package var isRangeUnsafe = false
  /// The status code of the last response; nil if there was none.
  package var status: Int?
  /// What the source said about the complete file; nil if it said nothing that ``TransferRequest/present`` can use.
  package var source: SourceRecord?
  /// The digest of the complete file; nil if the transfer did not compute it.
  package var digest: ExpectedDigest?
  /// The file name that the server sent (Content-Disposition), safe in any directory; nil if it sent none.
  package var suggestedName: String?
  /// Whether the job asked for the source's modification time but the source sent none.
  package var isUndated = false
  /// The names of part files that the transfer has replaced by a new part file. The old files may be removed once no checkpoint
  /// refers to them.
  package var leftover: [String] = []
}
