/// The total size of several files. The total is known once each file has ended or is running with a known length.
package struct ExpectedBytes: Sendable {
  package private(set) var total: Int64?
  /// The last known total, and the number of its files; nil if no total was known yet.
  private var last: (total: Int64, files: Int)?
  /// Whether the progress bar counts files instead of bytes. Once this is true, it stays true, so that the bar does not move
  /// backwards.
  package private(set) var countsFiles = false

  /// Records the lengths of the running files, the number of files that have not ended, and the completed files.
  package mutating func look(
    _ running: [Int64?], unfinished: Int, completed: (files: Int, bytes: Int64)
  ) {
    let lengths = running.compactMap { $0 }
    let isKnown = lengths.count == running.count && running.count >= unfinished
    let files = completed.files + unfinished
    if isKnown { last = (lengths.reduce(completed.bytes, +), files) }
    // While a file restarts or waits for a retry, its length is not known. The last total then still applies, unless there are
    // more files now.
    total = last.flatMap { files <= $0.files ? $0.total : nil }
    if total == nil, completed.files > 0 { countsFiles = true }
  }
}
