/// What the user may have meant: the nearest of a list of names.
package enum Suggestion {
  /// The name that `word` begins; else the one at the smallest edit distance, if that is at most 2, or 1 for a word of
  /// less than five characters, and less than the whole word: farther names of one domain are like each other. The first
  /// of equals.
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

  /// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
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
