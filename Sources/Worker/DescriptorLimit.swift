import Glibc

/// The maximum number of files that this process may have open: getrlimit(2), `RLIMIT_NOFILE`.
package struct DescriptorLimit: Sendable, Equatable {
  /// The current limit, and the maximum to which this process may raise it.
  let soft, hard: UInt

  /// The error for a hard limit that is too low. The description is a sentence for the operator.
  package struct TooLow: Error, Sendable, Equatable, CustomStringConvertible {
    let needed, hard: UInt

    package var description: String {
      "the chosen --concurrency needs \(needed) open files, but this process may open only \(hard): lower --concurrency, or first raise the limit of open files (LimitNOFILE=\(needed) in a systemd unit, or 'ulimit -Hn \(needed)' as root)"
    }
  }

  /// Raises the soft limit of this process if its workers need more open files.
  ///
  /// - Parameter leases: the number of jobs that each worker holds at the same time, in addition to jobs that are being
  ///   published.
  package static func raise(
    workers: Int = 1, leases: Int, stores: Int = 1
  ) throws(TooLow) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard unsafe getrlimit(resource, &limit) == 0 else { return }
    let needed = needed(workers: workers, leases: leases, stores: stores)
    let found = DescriptorLimit(soft: UInt(limit.rlim_cur), hard: UInt(limit.rlim_max))
    limit.rlim_cur = rlim_t(try found.raised(to: needed))
    // Every process may raise its soft limit up to the hard limit.
    _ = unsafe setrlimit(resource, &limit)
  }

  /// Returns the number of files that the workers may have open. Each job needs 8: two active and two idle connections, one for
  /// the resolver, the part file, and two directories. The same number of jobs may be publishing their files, with 3 open files
  /// each. Each store needs its directories of part files, and the process needs files for its threads and its database.
  static func needed(workers: Int, leases: Int, stores: Int) -> UInt {
    UInt(64 + workers * (11 * leases + 256 * stores))
  }

  /// Returns the soft limit to set.
  func raised(to needed: UInt) throws(TooLow) -> UInt {
    guard needed <= hard else { throw TooLow(needed: needed, hard: hard) }
    return max(soft, needed)
  }
}
