import HaulSystem

/// When a failed download is tried again. The rules are those of a pool of workers.
///
/// - Trouble of the download, such as a time-out, a broken connection or a 5xx answer: again after a random time, up to a bound
///   that doubles from 2 seconds to 10 minutes, until ``maxAttempts`` have failed.
/// - Trouble of the host, which does not answer or asks for less (429): again after 1 second to 5 minutes, for up to
///   ``maxHostWait``. This uses up no attempt.
/// - All else, such as a 404 answer, a wrong digest or a missing right: never.
///
/// What the server asks for (Retry-After) is always waited for. Partial files are kept and continued.
public struct RetryPolicy: Sendable, Hashable {
  /// How many attempts may fail by the download's own trouble; 1 tries no second time. Default: 5.
  public var maxAttempts = 5
  /// For how long a host may be in trouble, a name that cannot be resolved included. Default: an hour.
  public var maxHostWait = Duration.seconds(3600)

  /// The defaults.
  public init() {}

  /// What has failed so far.
  package struct Failures: Sendable, Equatable {
    /// By the download's own trouble.
    package var charged = 0
    /// By the host's trouble, in a row.
    package var host = 0
    /// Since when the host has been in trouble; nil while it is not.
    package var hostSince: ContinuousClock.Instant?

    package init() {}
  }

  /// Counts the failure and returns the wait before the next attempt; nil if there is none.
  ///
  /// - Parameter dice: in 0..<1.
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

  /// The database's `haul.job_backoff`.
  private static func jobBackoff(_ failures: Int, _ dice: Double) -> Duration {
    min(.seconds(600), .seconds(2 << min(failures, 10))) * dice
  }

  /// The database's `haul.host_backoff`.
  private static func hostBackoff(_ failures: Int, _ dice: Double) -> Duration {
    min(.seconds(300), .seconds(1 << min(failures, 10))) * (0.5 + dice / 2)
  }
}
