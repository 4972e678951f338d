/// What a transfer downloads, and where to.
package struct TransferRequest: Sendable {
  /// The original URL; each attempt follows its redirects again.
  package var url: WebURL
  /// Makes an empty part file of this name. `length` is that of the body in bytes; nil where it is not known.
  package typealias MakePart =
    @Sendable (_ name: String, _ length: Int64?) throws(TransferError) -> PartFile

  /// Called on a thread of the pool before a body's first byte is written. An error ends the transfer.
  package var makePart: MakePart
  /// The part file's name; a second one, after the source has changed, gets `.1` appended, and so on.
  package var partName: String
  /// What is durable already, and its part file, which bears ``partName`` by now.
  package var resuming: (checkpoint: Checkpoint, part: PartFile)?
  /// What the source said of a finished file that stands where this one is to go: if it still has the same, the transfer
  /// ends as ``TransferOutcome/unchanged``. Ignored if there is something to resume.
  package var present: SourceRecord?
  /// Headers that the job asks with; they go where ``credentials`` do.
  package var fields: [RequestField] = []
  /// Headers that prove nothing about who asks: they go to every origin.
  package var openFields: [HeaderField] = []
  /// How the URL is asked for. After a HEAD the outcome is ``TransferOutcome/unchanged``.
  package var method = RequestMethod.get
  /// The body of a POST or PUT; nil for the other methods. A body is sent once, and its answer never resumed.
  package var body: [UInt8]?
  /// The proxy for all its requests; nil takes the engine's.
  package var proxy: ProxyAddress?
  /// Asked for a login when a server wants one (401); nil gives up.
  package var authenticate: (@Sendable (AuthenticationChallenge) async -> Login?)?
  /// Asked about each redirect before it is followed. An error ends the transfer.
  package var onRedirect:
    (@Sendable (ResponseHead, _ from: WebURL, _ to: WebURL) -> TransferError?)?
  /// Called with the metrics of each request.
  package var onRequest: (@Sendable (RequestMetrics) -> Void)?
  /// Asked about each response before a byte of its body is taken, on the engine thread. An error ends the transfer.
  package var onResponse: (@Sendable (ResponseHead, WebURL) -> TransferError?)?
  /// Called on a thread of the pool after a head whose body is the file's, and before a byte of that is taken. An error ends the
  /// transfer.
  package var checkTarget: (@Sendable () throws(TransferError) -> Void)?
  /// Request fields that prove who asks: sent to the URL's own origin, and no more once a redirect has
  /// left it. Where there are some, the engine's ``DownloaderConfiguration/netrc`` is not asked for that origin.
  package var credentials: [ResponseHead.Field] = []
  /// The client certificate for the TLS handshake, for the origins that ``credentials`` go to.
  package var certificate: ClientCertificate?
  /// The login for FTP, SFTP and Digest, for the origins that ``credentials`` go to. Without one, ``DownloaderConfiguration/netrc`` may
  /// have one.
  package var login: Login?
  /// Which addresses the URL's own origin may have; nil takes the engine's policy. Redirects to other
  /// origins always fall under the engine's.
  package var addressPolicy: AddressPolicy?
  /// The host is known to answer ranges wrongly: none are asked of it.
  package var rangeUnsafe = false
  /// How often the source changed before; at three there is no more resuming.
  package var changes = 0
  /// The media type that the response must have, over HTTP.
  package var expectedType: ExpectedType?
  /// Checked before the transfer counts as complete.
  package var digest: ExpectedDigest?
  /// The file's SHA-256 is computed while its bytes come, whether or not a digest is checked.
  package var recordsDigest = false
  /// The complete file gets the time at which the source says that it was modified.
  package var takesRemoteTime = false
  /// The length in bytes, where the caller knows it; it proves a body without a stated length complete.
  package var expectedLength: Int64?
  /// Bytes above which the transfer fails; nil for no limit.
  package var maximumLength: Int64?
  /// The most bytes a second that are read of all its bodies; nil for no limit of its own.
  package var rateLimit: RateLimit?
  /// How long a connection may take to be made; nil takes the engine's limit.
  package var connectTimeout: Duration?
  /// How long the source may go without sending; nil takes the engine's limits.
  package var stallTimeout: Duration?
  /// A body without length that the peer closed counts as complete.
  package var acceptUnverifiedLength = false
  /// Checkpoint after this number of bytes or this time, whichever comes first.
  package var checkpointBytes: Int64 = 64 << 20
  package var checkpointTime = Duration.seconds(5)
  /// The time of the first checkpoint, where that is to come sooner.
  package var firstCheckpoint: Duration?
  /// What cannot be synced in this time at a stop is given up to its last checkpoint.
  package var stopTime = Duration.milliseconds(500)
  /// Whether a record has been handed over that waits for an answer, and not for a disk. A stop waits for that answer without
  /// a limit, and then saves the rest.
  package var awaitsAnswer: @Sendable () -> Bool = { false }

  /// A download from 0 without conditions, into a part file in `parts`.
  package init(url: WebURL, parts: PartDirectory, partName: String) {
    self.init(url: url, partName: partName) { (name, length) throws(TransferError) in
      try parts.make(name, of: length)
    }
  }

  /// A download from 0 without conditions, into what `makePart` makes.
  init(url: WebURL, partName: String, makePart: @escaping MakePart) {
    self.url = url
    self.partName = partName
    self.makePart = makePart
  }
}

/// How a transfer ended.
package enum TransferOutcome: Sendable {
  /// Every byte is written and the digest is right; nothing is synced yet.
  case complete(part: PartFile, length: Int64)
  /// The source still has what ``TransferRequest/present`` is the record of, or only its head was asked for. No byte was downloaded
  /// and no file touched.
  case unchanged
  /// ``PartTransfer/stop()`` was called. What could be synced in time has been saved.
  case stopped
  /// The owner said that it has no right to the job any more.
  case lost
  /// What was durable has been saved.
  case failed(TransferError)
}

/// What a transfer tells its owner besides its outcome.
package struct TransferReport: Sendable, Equatable {
  /// Nothing done yet.
  package init() {}

  /// Bytes received over the network.
  package var fetched: Int64 = 0
  /// The offset that work of an earlier attempt was good for.
  package var resumedAt: Int64 = 0
  /// How often the source turned out to have changed.
  package var changes = 0
  /// Whether a range was answered wrongly.
  package var isRangeUnsafe = false
  /// Status of the last answer.
  package var status: Int?
  /// What the source said of the complete file; nil where nothing of use to ``TransferRequest/present`` is known.
  package var source: SourceRecord?
  /// The complete file's digest, where it was checked or asked for.
  package var digest: ExpectedDigest?
  /// The name that the server sends for the file (Content-Disposition), fit for any directory; nil where it sent none.
  package var suggestedName: String?
  /// Whether the job asked for the source's time but the source sent none.
  package var isUndated = false
  /// Part files begun and given up for another. They may be removed once no checkpoint means them.
  package var leftover: [String] = []
}
