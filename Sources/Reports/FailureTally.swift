import Terminal

/// How many files failed, and of what.
package struct FailureTally: Sendable {
  package private(set) var count = 0
  /// By error class.
  package private(set) var classes: [String: Int] = [:]

  package init() {}

  /// One failed of the class `error`.
  package mutating func add(_ error: String) {
    count += 1
    classes[error, default: 0] += 1
  }

  /// `3 files failed (2 http_4xx, 1 exists).`
  package var sentence: String { "\(counted(count, "file")) failed (\(list))." }

  /// `2 http_4xx, 1 exists`
  package var list: String {
    classes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
