package import JobModel

/// One job as a list names it; everything but the URL is optional in every format.
///
/// Readers check only the kinds of values. `SubmissionCheck` checks the rest.
package struct ListEntry: Sendable, Equatable {
  /// Where the entry starts in its list, counted from 1.
  package var line: Int
  package var url: String
  /// Where the file goes below the store; nil for `DefaultPath`.
  package var path: String?
  /// The directory below the store of a file that has no path but its own name.
  package var directory: String?
  /// 0 (first) to 9.
  package var priority: Int?
  package var options = JobOptions()

  /// An entry with what nearly every format says of it.
  package init(
    line: Int, url: String, path: String? = nil, digest: String? = nil, length: Int64? = nil
  ) {
    self.line = line
    self.url = url
    self.path = path
    options.digest = digest
    options.length = length
  }
}
