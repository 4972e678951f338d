import HaulTransfer
import JobModel
import JobQueue
import Stores

/// What becomes of the lease, for ``JobQueue`` to settle.
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

  /// Completed again with the file that is there.
  func unchanged(_ report: TransferReport) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
    fill(&ending, report)
    ending.bytes = lease.earlier?.bytes
    ending.path = lease.earlier?.path
    ending.digest = lease.earlier?.digest
    ending.source = lease.earlier?.source
    return ending
  }

  /// Done with the file of `bytes` that stands there.
  func skipped(bytes: Int64, path: String, report: TransferReport) -> LeaseEnding {
    var ending = completed(bytes: bytes, path: path, report: report, digest: nil)
    ending.isSkipped = true
    // The file that stands there came from somewhere else.
    ending.source = nil
    return ending
  }

  func failure(_ error: TransferError, report: TransferReport) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
    fill(&ending, report)
    ending.path = lease.path
    ending.error = ErrorClass(rawValue: error.errorClass.rawValue)
    // Of several URLs the reader wants to know which one failed.
    ending.message = (lease.options.mirrors == nil ? "" : "\(lease.host): ") + error.sentence
    ending.status = error.status ?? report.status
    // Should somebody have taken a directory of part files away, the next attempt makes it anew.
    if [.io, .notPermitted].contains(error.errorClass) {
      environment.stores[lease.store]?.shards.forget()
    }
    ending.retryAfter = error.retryAfter.map { $0 / .seconds(1) }
    // The record of the file that is there, with what came instead of a new one, for the next attempt to compare.
    if let source = report.source, source.suspect != nil { ending.source = source.fields }
    if let host = error.host, host != lease.host { ending.host = host }
    return ending
  }

  /// The ending of a job that is given back as it is, or tried again once its host answers.
  func released(_ report: TransferReport, silence: Duration?) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
    fill(&ending, report)
    guard let silence, report.status == nil else { return ending }
    ending.result = .failed
    ending.error = .silent
    ending.message =
      "no answer within \(Int(silence / .seconds(1))) s, and other jobs waited for the slot"
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
