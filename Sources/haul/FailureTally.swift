/// How many files failed, and of what.
struct FailureTally: Sendable {
  private(set) var count = 0
  /// By error class.
  private(set) var classes: [String: Int] = [:]

  /// One failed of the class `error`.
  mutating func add(_ error: String) {
    count += 1
    classes[error, default: 0] += 1
  }

  /// `3 files failed (2 http_4xx, 1 exists).`
  var sentence: String { "\(counted(count, "file")) failed (\(list))." }

  /// `2 http_4xx, 1 exists`
  var list: String {
    classes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}
