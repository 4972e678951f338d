package import JobModel

/// A job as a list describes it. In every format only the URL is required.
///
/// List readers check only the types of values. `SubmissionCheck` checks everything else.
package struct ListEntry: Sendable, Equatable {
  /// The line on which the entry begins, counted from 1.
  package var line: Int
  package var url: String
  /// The path of the file below the store; nil for the path from `DefaultPath`.
  package var path: String?
  /// The directory below the store; nil if the list states none. If the entry has no path, its path is this directory followed
  /// by the file's default name.
  package var directory: String?
  /// The priority from 0 (first) to 9; nil if the list states none.
  package var priority: Int?
  package var options = JobOptions()

  /// Creates an entry. The parameters are the fields that most formats have.
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
