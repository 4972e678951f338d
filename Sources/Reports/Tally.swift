import HaulSystem
import JobModel
package import JobQueue
import Terminal

/// The progress of a set of jobs: counts and bytes.
package struct Tally {
  package private(set) var completed = 0
  package private(set) var failed = 0
  package private(set) var cancelled = 0
  /// The number of jobs that have not ended, including running ones.
  package private(set) var pending = 0
  /// The size of the completed files plus the downloaded bytes of waiting jobs.
  package private(set) var bytes: Int64 = 0
  /// The downloaded fractions of the files of waiting jobs, added up.
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

  /// The number of failed jobs by error class, sorted by the name of the class.
  package var classes: [(name: String, jobs: Int)] {
    errors.sorted { $0.key < $1.key }.map { ($0.key.rawValue, $0.value) }
  }

  package var ended: Int { completed + failed + cancelled }

  /// Returns why no job can start before a time or a person's action, and what to do; nil if a job may start at any
  /// moment. `selector` selects the jobs for another command, if there is one. `obstacle` keeps the jobs from starting.
  package func reasonToStandStill(selector: String?, obstacle: Obstacle?) -> String? {
    guard pending > 0, let obstacle else { return nil }
    let sentence = obstacle.sentence(of: selector)
    return obstacle.kind == .held ? sentence : "nothing is running: \(sentence)"
  }

  /// The sentence about failures, such as `3 jobs failed (2 http_4xx, 1 exists), 1 cancelled.`
  package var failures: String {
    let classes = classes.map { "\($0.jobs) \($0.name)" }.joined(separator: ", ")
    if failed == 0 { return "\(counted(cancelled, "job")) cancelled." }
    return "\(counted(failed, "job")) failed (\(classes))"
      + (cancelled > 0 ? ", \(cancelled) cancelled." : ".")
  }
}
