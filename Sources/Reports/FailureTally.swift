import Terminal

/// The number of failed files, in total and by error class.
package struct FailureTally: Sendable {
  package private(set) var count = 0
  /// The number of failed files by error class.
  package private(set) var classes: [String: Int] = [:]

  package init() {}

  /// Adds a file that failed with the class `error`.
  package mutating func add(_ error: String) {
    count += 1
    classes[error, default: 0] += 1
  }

  /// The sentence such as `3 files failed (2 http_4xx, 1 exists).`
  package var sentence: String { "\(counted(count, "file")) failed (\(list))." }

  /// The numbers by class such as `2 http_4xx, 1 exists`, the largest first.
  package var list: String {
    classes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
