import HaulSystem
import JobModel
package import JobQueue
import Terminal

/// How far jobs are.
package struct Tally {
  package private(set) var completed = 0
  package private(set) var failed = 0
  package private(set) var cancelled = 0
  /// Jobs that have not ended, including running ones.
  package private(set) var pending = 0
  /// Bytes of the files that are there, and of what waits with a part of its file.
  package private(set) var bytes: Int64 = 0
  /// What waits with a part of its file, in whole files.
  package private(set) var parts = 0.0
  /// Failed jobs by error class, if the counts have classes.
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

  /// Failed jobs by error class, in the order of the names.
  package var classes: [(name: String, jobs: Int)] {
    errors.sorted { $0.key < $1.key }.map { ($0.key.rawValue, $0.value) }
  }

  package var ended: Int { completed + failed + cancelled }

  /// Why nothing can run before its time or before a person acts, and what to do about it; nil if a job may start at any
  /// moment. `selector` names the jobs for another command, if it can. `obstacle` keeps them from starting.
  package func reasonToStandStill(selector: String?, obstacle: Obstacle?) -> String? {
    guard pending > 0, let obstacle else { return nil }
    let sentence = obstacle.sentence(of: selector)
    return obstacle.kind == .held ? sentence : "nothing is running: \(sentence)"
  }

  /// `3 jobs failed (2 http_4xx, 1 exists), 1 cancelled.`
  package var failures: String {
    let classes = classes.map { "\($0.jobs) \($0.name)" }.joined(separator: ", ")
    if failed == 0 { return "\(counted(cancelled, "job")) cancelled." }
    return "\(counted(failed, "job")) failed (\(classes))"
      + (cancelled > 0 ? ", \(cancelled) cancelled." : ".")
  }
}
