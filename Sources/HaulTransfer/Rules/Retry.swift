extension TransferError {
  /// Whether asking again may help, and who is to wait for what. The raw value is the database's word.
  package enum Retry: String, Sendable, CaseIterable {
    /// Asking again will not change it.
    case never = "permanent"
    /// A problem of this download: retry after a pause, a limited number of times.
    case job
    /// Trouble of the host: nothing is asked of it for a while, and the download is not to blame.
    case host
    /// Trouble of the worker that tried: again after a while, by whichever worker has the download then, and the download is
    /// not to blame.
    case worker
    /// A retry from here will not help, but it is not the download's fault, and another attempt may continue from
    /// the durable bytes.
    case kept
  }
}

extension TransferError.Class {
  /// What follows from an error of this class. The database decides by the same words; a test compares them.
  package var retry: TransferError.Retry {
    switch self {
    case .http403, .http404, .http410, .http4xx, .noFile, .digest, .length, .tooLarge,
      .unverifiedLength, .blockedURL, .redirects, .exists, .pathConflict, .rejected, .cancelled:
      .never
    case .tls, .timeout, .interrupted, .http5xx, .protocol, .range, .sourceChanged,
      .suspectPage, .diskFull, .io, .openFiles:
      .job
    case .dns, .connect, .rateLimited: .host
    case .credential, .proxy, .notPermitted: .worker
    case .blockedAddress, .blockedCredential, .noCredential: .kept
    }
  }
}
