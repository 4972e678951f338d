/// Suggests the name that the user may have meant, from a list of names.
package enum Suggestion {
  /// Returns the first name that begins with `word`. If there is none, returns the first name with the smallest edit distance;
  /// nil if no name is near enough.
  ///
  /// The distance may be at most 2, or at most 1 if `word` has fewer than five characters. The distance must also be less than
  /// the length of `word`. With a larger limit, unrelated names would match.
  package static func nearest(to word: String, among names: [String]) -> String? {
    if word.count > 1, let name = names.first(where: { $0.hasPrefix(word) }) { return name }
    let limit = min(word.count < 5 ? 1 : 2, word.count - 1)
    var best: (name: String, distance: Int)?
    for name in names {
      let distance = distance(Array(word), Array(name))
      if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
    }
    return best?.name
  }

  /// Returns the optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
  static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [Array(0...right.count)]
    for (i, a) in left.enumerated() {
      var row = [i + 1]
      for (j, b) in right.enumerated() {
        var cost = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a == b ? 0 : 1))
        if i > 0, j > 0, a == right[j - 1], left[i - 1] == b {
          cost = min(cost, rows[i - 1][j - 1] + 1)
        }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
