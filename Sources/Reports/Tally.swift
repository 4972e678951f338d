import HaulSystem
import JobModel
package import JobQueue
import Terminal

/// The progress of a set of jobs: job counts and bytes.
package struct Tally {
  package private(set) var completed = 0
  package private(set) var failed = 0
  package private(set) var cancelled = 0
  /// The number of jobs that have not ended, including running jobs.
  package private(set) var pending = 0
  /// The number of bytes of completed files, plus the downloaded bytes of waiting jobs.
  package private(set) var bytes: Int64 = 0
  /// The sum of the downloaded fractions of the files of all waiting jobs. A complete file would add 1.
  package private(set) var parts = 0.0
  /// The number of failed jobs by error class, if the counts have classes.
  private var errors: [ErrorClass: Int] = [:]

  package init(_ counts: [JobCount]) {
    for count in counts {
      switch count.state {
      case .completed:
        completed += count.jobs
        bytes += count.bytes
      case .cancelled: cancelled += count.jobs
      case .failed:
        failed += count.jobs
        if let error = count.error { errors[error, default: 0] += count.jobs }
      default:
        pending += count.jobs
        if count.state != .running {
          bytes += count.bytes
          parts += count.parts ?? 0
        }
      }
    }
  }

  /// The number of failed jobs for each error class, in the order of the names.
  package var classes: [(name: String, jobs: Int)] {
    errors.sorted { $0.key < $1.key }.map { ($0.key.rawValue, $0.value) }
  }

  package var ended: Int { completed + failed + cancelled }

  /// Returns why no job can start at present, and what to do; nil if a job may start at any moment. The reason is a start time
  /// in the future, or a problem that a person must solve. `selector` is the option that selects the jobs in another command;
  /// nil if there is none. `obstacle` is the reason that the database gives.
  package func reasonToStandStill(selector: String?, obstacle: Obstacle?) -> String? {
    guard pending > 0, let obstacle else { return nil }
    let sentence = obstacle.sentence(of: selector)
    return obstacle.kind == .held ? sentence : "nothing is running: \(sentence)"
  }

  /// A sentence about failures, such as `3 jobs failed (2 http_4xx, 1 exists), 1 cancelled.`
  package var failures: String {
    if failed == 0 { return "\(counted(cancelled, "job")) cancelled." }
    let removed = failed - errors.values.reduce(0, +)
    let parts =
      classes.map { "\($0.jobs) \($0.name)" }
      + (removed > 0 ? ["\(removed) removed since then"] : [])
    return "\(counted(failed, "job")) failed (\(parts.joined(separator: ", ")))"
      + (cancelled > 0 ? ", \(cancelled) cancelled." : ".")
  }
}
