/// The class of an error, as the database and the logs spell it.
///
/// The transfer library defines the classes of a download; `docs/errors.md` explains all of them.
package struct ErrorClass: DatabaseWord {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  /// The host has answered none of several transfers in a row.
  package static let silent = ErrorClass(rawValue: "silent")
  /// The host was in trouble for longer than the job waits for one. Only the database decides this.
  package static let hostUnreachable = ErrorClass(rawValue: "host_unreachable")
  /// Worker after worker died while it had the job. Only the database decides this.
  package static let rescuedTooOften = ErrorClass(rawValue: "rescued_too_often")
  /// The job's data raise errors in the database, which has set the job aside. Only the database decides this.
  package static let `internal` = ErrorClass(rawValue: "internal")

  /// What a log says of a job that the database has set aside; nil of any other class.
  package func setAside(_ job: Int64) -> String? {
    self == .internal ? "the database cannot end this job; 'haul job \(job)' has the reason" : nil
  }

  /// The classes that only a pool has.
  package static let known: [ErrorClass] = [.silent, .hostUnreachable, .rescuedTooOften, .internal]
}
