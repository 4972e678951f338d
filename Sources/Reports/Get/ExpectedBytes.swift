/// How many bytes files hold together, known once each has ended or runs with its length known.
package struct ExpectedBytes: Sendable {
  package private(set) var total: Int64?
  /// What was known last, and of how many files.
  private var last: (total: Int64, files: Int)?
  /// A bar that has counted files goes on counting files, not to run backwards.
  package private(set) var countsFiles = false

  /// The lengths of what runs, how many files have not ended, and those that are there.
  package mutating func look(
    _ running: [Int64?], unfinished: Int, completed: (files: Int, bytes: Int64)
  ) {
    let lengths = running.compactMap { $0 }
    let isKnown = lengths.count == running.count && running.count >= unfinished
    let files = completed.files + unfinished
    if isKnown { last = (lengths.reduce(completed.bytes, +), files) }
    // One that has just begun anew or waits to be tried again is as long as it was.
    total = last.flatMap { files <= $0.files ? $0.total : nil }
    if total == nil, completed.files > 0 { countsFiles = true }
  }
}
