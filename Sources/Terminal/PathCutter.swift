/// Cuts the paths that are in view to one width so that, as far as there is room, none looks like another.
struct PathCutter: Sendable {
  private let width: Int
  private let ellipsis: String
  /// Those that would look alike without their fronts: with how many characters each begins, and ends, as another does.
  private let alike: [String: (begin: Int, end: Int)]

  /// For `paths`, which are free of control characters, in `width` columns.
  init(_ paths: Set<String>, to width: Int, ellipsis: String = "…") {
    self.width = width
    self.ellipsis = ellipsis
    let groups = Dictionary(grouping: paths) {
      DisplayWidth.truncatedPath($0, to: width, ellipsis: ellipsis)
    }
    let ends = Self.shared(groups.keys.map { String($0.reversed()) })
    var alike: [String: (begin: Int, end: Int)] = [:]
    for (end, group) in groups where group.count > 1 {
      for (path, begin) in Self.shared(group) {
        alike[path] = (begin, ends[String(end.reversed())] ?? 0)
      }
    }
    self.alike = alike
  }

  /// One of the paths, in at most so many columns.
  func cut(_ path: String) -> String {
    guard let (begin, end) = alike[path] else {
      return DisplayWidth.truncatedPath(path, to: width, ellipsis: ellipsis)
    }
    return DisplayWidth.truncatedPath(path, to: width, alike: begin, end, ellipsis: ellipsis)
  }

  /// With how many characters each of `texts`, no two of which are equal, begins as another does: one of its neighbours in order.
  private static func shared(_ texts: [String]) -> [String: Int] {
    let sorted = texts.sorted()
    let next = zip(sorted, sorted.dropFirst()).map { zip($0, $1).prefix { $0 == $1 }.count } + [0]
    var shared: [String: Int] = [:]
    for (index, text) in sorted.enumerated() {
      shared[text] = max(next[index], index > 0 ? next[index - 1] : 0)
    }
    return shared
  }
}
