/// The class of an error, as a word of the database and the logs.
///
/// The transfer library defines the classes of a download; `docs/errors.md` explains all of them.
package struct ErrorClass: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The host did not answer several consecutive transfers.
  package static let silent = ErrorClass(rawValue: "silent")
  /// The host had problems for longer than the job's `max_host_wait`. Only the database sets this class.
  package static let hostUnreachable = ErrorClass(rawValue: "host_unreachable")
  /// Too many workers died while they ran the job. Only the database sets this class.
  package static let rescuedTooOften = ErrorClass(rawValue: "rescued_too_often")
  /// The job's data cause errors in the database, so the database no longer starts the job. Only the database sets this class.
  package static let `internal` = ErrorClass(rawValue: "internal")

  /// Returns the log message for a job that the database no longer starts because its data cause errors. Returns nil for any
  /// other error class.
  package func setAside(_ job: Int64) -> String? {
    self == .internal
      ? "the database cannot record the end of this job; 'haul job \(job)' shows the reason" : nil
  }

  /// The error classes that only a pool has. The transfer library does not define them.
  package static let known: [ErrorClass] = [.silent, .hostUnreachable, .rescuedTooOften, .internal]
}
