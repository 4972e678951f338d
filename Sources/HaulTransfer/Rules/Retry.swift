extension TransferError {
  /// Whether asking again may help, and who is to wait for what. The raw value is the database's word.
  package enum Retry: String, Sendable, CaseIterable {
    /// Asking again will not change it.
    case never = "permanent"
    /// Trouble of this one download: again after a while, so many times.
    case job
    /// Trouble of the host: nothing is asked of it for a while, and the download is not to blame.
    case host
    /// Trouble of the worker that tried: again after a while, by whichever worker has the download then, and the download is
    /// not to blame.
    case worker
    /// Asking again from here will not change it, but it is no fault of the download, and somebody may go on
    /// with what is durable.
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
