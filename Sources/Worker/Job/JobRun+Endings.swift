import HaulTransfer
import JobModel
import JobQueue
import Stores

/// Creates the ends of leases that the worker reports to the ``JobQueue``.
extension JobRun {
  func completed(
    bytes: Int64, path: String, report: TransferReport, digest: ExpectedDigest?
  ) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
    fill(&ending, report)
    ending.bytes = bytes
    ending.path = path
    ending.digest = digest?.description
    ending.source = report.source?.fields
    if report.isUndated { ending.isUndated = true }
    return ending
  }

  /// Returns the ending of a job that keeps its earlier file because the source has not changed.
  func unchanged(_ report: TransferReport) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
    fill(&ending, report)
    ending.bytes = lease.earlier?.bytes
    ending.path = lease.earlier?.path
    ending.digest = lease.earlier?.digest
    ending.source = lease.earlier?.source
    return ending
  }

  /// Returns the ending of a job whose path already has another file of `bytes` bytes. That file stays.
  func skipped(bytes: Int64, path: String, report: TransferReport) -> LeaseEnding {
    var ending = completed(bytes: bytes, path: path, report: report, digest: nil)
    ending.isSkipped = true
    // The existing file came from somewhere else.
    ending.source = nil
    return ending
  }

  func failure(_ error: TransferError, report: TransferReport) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
    fill(&ending, report)
    ending.path = lease.path
    ending.error = ErrorClass(rawValue: error.errorClass.rawValue)
    // If a job has several URLs, the message says which one failed.
    ending.message = (lease.options.mirrors == nil ? "" : "\(lease.host): ") + error.sentence
    ending.status = error.status ?? report.status
    // If a directory of part files was removed, the next attempt creates it again.
    if [.io, .notPermitted].contains(error.errorClass) {
      environment.stores[lease.store]?.shards.forget()
    }
    ending.retryAfter = error.retryAfter.map { $0 / .seconds(1) }
    // The response may be an error page. Record it with the source of the existing file, so that the next attempt can compare
    // its own response with both.
    if let source = report.source, source.suspect != nil { ending.source = source.fields }
    if let host = error.host, host != lease.host { ending.host = host }
    return ending
  }

  /// Returns the ending of a job that the worker gives back unchanged. If `silence` is not nil and the server sent no answer,
  /// the job fails with the error class `silent` instead, and Haul retries it later.
  func released(_ report: TransferReport, silence: Duration?) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
    fill(&ending, report)
    guard let silence, report.status == nil else { return ending }
    ending.result = .failed
    ending.error = .silent
    ending.message =
      "the server did not answer within \(Int(silence / .seconds(1))) s, and other jobs were waiting to start"
    return ending
  }

  func fill(_ ending: inout LeaseEnding, _ report: TransferReport) {
    ending.fetched = report.fetched
    ending.resumedAt = report.resumedAt
    if snapshot.kept > 0, report.resumedAt == 0, report.fetched > 0 { ending.isAnew = true }
    ending.changes = report.changes
    if report.isRangeUnsafe { ending.rangeUnsafe = true }
    ending.status = report.status
  }
}
