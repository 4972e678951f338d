extension TransferError {
  /// Whether a retry may help, and whether the download, the host or the worker has the problem. The raw value is the word in
  /// the database.
  package enum Retry: String, Sendable, CaseIterable {
    /// No retry can succeed.
    case never = "permanent"
    /// A problem of this download. Haul retries the download a limited number of times and waits before each retry.
    case job
    /// A problem of the host. Haul sends the host no requests for up to 5 minutes, or longer if Retry-After says so. The
    /// failure does not count against the download.
    case host
    /// A problem of the worker. Any worker may retry later, and the failure does not count against the download.
    case worker
    /// A retry by this process does not help, but the failure does not count against the download. Another attempt may
    /// continue from the durable bytes.
    case kept
  }
}

extension TransferError.Class {
  /// The kind of retry after an error of this class. The database knows the kind of each class by its raw value; a test
  /// compares the database with this property.
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
