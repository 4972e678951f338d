/// How many bytes files hold together, known once each has ended or runs with its length known.
struct ExpectedBytes: Sendable {
  private(set) var total: Int64?
  /// A bar that has counted files goes on counting files, not to run backwards.
  private(set) var countsFiles = false

  /// The lengths of what runs, how many files have not ended, and those that are there.
  mutating func look(
    _ running: [Int64?], unfinished: Int, completed: (files: Int, bytes: Int64)
  ) {
    let lengths = running.compactMap { $0 }
    let isKnown = lengths.count == running.count && running.count >= unfinished
    total = isKnown ? lengths.reduce(completed.bytes, +) : nil
    if !isKnown, completed.files > 0 { countsFiles = true }
  }
}
