package import JobModel

/// A job as a list describes it. In every format only the URL is required.
///
/// Readers check only the types of values. `SubmissionCheck` checks everything else.
package struct ListEntry: Sendable, Equatable {
  /// The line on which the entry begins, counted from 1.
  package var line: Int
  package var url: String
  /// The path of the file below the store, or nil for the `DefaultPath`.
  package var path: String?
  /// The directory below the store for a file that has no path. The file's name is added to it.
  package var directory: String?
  /// The priority from 0 (first) to 9, or nil if the list gives none.
  package var priority: Int?
  package var options = JobOptions()

  /// Creates an entry with the fields that most formats have.
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
