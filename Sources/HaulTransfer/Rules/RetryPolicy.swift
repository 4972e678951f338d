import HaulSystem

/// Rules for retrying a failed download. Haul's worker pools use these rules, too.
///
/// - A problem of the download, such as a time-out, a broken connection or a 5xx status: Haul retries until ``maxAttempts``
///   attempts have failed. The wait before each retry is random, and the maximum wait doubles from 2 seconds up to 10 minutes.
/// - A problem of the host, such as no response or status 429 (too many requests): Haul retries for up to ``maxHostWait``. The
///   wait before each retry is random, and the maximum wait doubles from 1 second up to 5 minutes. These retries do not count
///   as attempts.
/// - Any other error, such as status 404, a wrong digest or a missing permission: Haul never retries.
///
/// Haul always waits as long as the server asks (Retry-After). Partial files are kept and continued.
public struct RetryPolicy: Sendable, Hashable {
  /// The number of attempts that may fail because of the download itself; 1 means no retry. Default: 5 attempts.
  public var maxAttempts = 5
  /// How long Haul waits for a host that does not respond, asks for fewer requests or cannot be resolved. Default: one hour.
  public var maxHostWait = Duration.seconds(3600)

  /// Creates a policy with the defaults.
  public init() {}

  /// The failures of a download so far.
  package struct Failures: Sendable, Equatable {
    /// The number of failures caused by the download.
    package var charged = 0
    /// The number of consecutive failures caused by the host.
    package var host = 0
    /// When the host's current problems began; nil if the host has none.
    package var hostSince: ContinuousClock.Instant?

    package init() {}
  }

  /// Counts the failure and returns the wait before the next attempt; nil if no attempt may follow.
  ///
  /// - Parameter dice: a random number in 0..<1.
  package func delay(
    after error: TransferError, _ failures: inout Failures, now: ContinuousClock.Instant,
    dice: Double
  ) -> Duration? {
    switch error.errorClass.retry {
    case .never, .kept, .worker: return nil
    case .job:
      defer { failures.charged += 1 }
      (failures.host, failures.hostSince) = (0, nil)
      if failures.charged + 1 >= maxAttempts { return nil }
      return max(error.retryAfter ?? .zero, Self.jobBackoff(failures.charged, dice))
    case .host:
      let trouble = failures.hostSince.map { now - $0 } ?? .zero
      defer { failures.host += 1 }
      failures.hostSince = failures.hostSince ?? now
      if trouble > maxHostWait || error.retryAfter ?? .zero > maxHostWait - trouble { return nil }
      let longest = max(maxHostWait - trouble, .seconds(1))
      return max(
        error.retryAfter ?? .zero, min(longest, Self.hostBackoff(failures.host, dice)))
    }
  }

  /// Returns the same wait as the database's `haul.job_backoff`.
  private static func jobBackoff(_ failures: Int, _ dice: Double) -> Duration {
    min(.seconds(600), .seconds(2 << min(failures, 10))) * dice
  }

  /// Returns the same wait as the database's `haul.host_backoff`.
  private static func hostBackoff(_ failures: Int, _ dice: Double) -> Duration {
    min(.seconds(300), .seconds(1 << min(failures, 10))) * (0.5 + dice / 2)
  }
}
