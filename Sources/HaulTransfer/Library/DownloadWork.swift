/// What a download does when its turn has come: fetches a file, or plays a script.
protocol DownloadWork: Sendable {
  /// Makes one attempt, and reports progress and durable bytes to the download.
  func attempt(_ download: Download) async -> Result<DownloadedFile, TransferError>

  /// Ends the attempt under way as `cancelled`. Nothing where none is.
  func stop()

  /// How far the attempt under way is; nil where none is.
  var progress: AttemptProgress? { get }

  /// Removes the partial file.
  func discard(_ data: ResumeData) async

  /// Removes the complete file, if it is still the one of this identity.
  func remove(_ file: DownloadedFile, _ identity: FileIdentity, of request: DownloadRequest) async
}

extension DownloadWork {
  func remove(_ file: DownloadedFile, _ identity: FileIdentity, of request: DownloadRequest) async {
  }
}

/// How far an attempt is.
struct AttemptProgress: Sendable {
  var bytes: Int64 = 0
  var total: Int64?
  /// Bytes over the network.
  var fetched: Int64 = 0
  /// When the first of them could come, and when the last came; nil before.
  var received: (since: ContinuousClock.Instant, last: ContinuousClock.Instant)?
  /// Bytes a second, where it is known by other means than ``fetched``.
  var rate: Double?
}
