import Terminal

/// A count of failed files, in total and by error class.
package struct FailureTally: Sendable {
  package private(set) var count = 0
  /// The number of failed files for each error class.
  package private(set) var classes: [String: Int] = [:]

  package init() {}

  /// Counts a file that failed with the error class `error`.
  package mutating func add(_ error: String) {
    count += 1
    classes[error, default: 0] += 1
  }

  /// A sentence with the counts, such as `3 files failed (2 http_4xx, 1 exists).`
  package var sentence: String { "\(counted(count, "file")) failed (\(list))." }

  /// The counts by error class, such as `2 http_4xx, 1 exists`, largest first.
  package var list: String {
    classes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
