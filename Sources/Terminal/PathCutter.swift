/// Cuts paths that are visible together, so that no two cut paths look alike if there is room.
///
/// A cut path keeps its name, and as many directories before the name as fit. A name that is too long keeps both ends. If names
/// look alike, the cutter first keeps the words that distinguish the paths, then the text around them.
struct PathCutter: Sendable {
  private let ellipsis: String
  /// The words that distinguish each path from the others, the most distinctive first. Contains only paths whose names look
  /// alike.
  private let telling: [String: [Range<Int>]]

  /// The largest number of paths that are kept distinct. A screen never shows more.
  private static let most = 1000

  /// Prepares to cut `paths` to about `width` columns. The paths must not contain control characters. If there are more than
  /// ``most`` paths, each is cut without regard to the others, and so is a path that is not in `paths`.
  init(_ paths: some Sequence<String>, in width: Int, ellipsis: String = "…") {
    self.ellipsis = ellipsis
    let paths = Set(paths)
    guard paths.count <= Self.most, paths.contains(where: { DisplayWidth.of($0) > width }) else {
      telling = [:]
      return
    }
    let alike = Dictionary(grouping: paths) { Self.cutName($0, to: width, ellipsis) }
      .values.filter { $0.count > 1 }.joined()
    // Beside the words that distinguish paths, there is room only for the end of each name. So only paths whose names have the
    // same end need such words.
    let groups = Dictionary(grouping: alike) { Self.name(of: $0).suffix(PathCut.end(of: width)) }
    telling = groups.values.map(Self.telling).reduce(into: [:]) {
      $0.merge($1) { first, _ in first }
    }
  }

  /// Returns `path`, shortened to at most `columns`.
  func cut(_ path: String, to columns: Int) -> String {
    if DisplayWidth.of(path) <= columns { return path }
    if DisplayWidth.of(ellipsis) > columns { return "" }
    let words = telling[path] ?? []
    // A mark for the directories would take the place of a part of the name.
    if words.isEmpty, DisplayWidth.of(String(Self.name(of: path)) + ellipsis) > columns {
      return Self.cutName(path, to: columns, ellipsis)
    }
    var cut = PathCut(path, columns: columns, ellipsis)
    cut.keep(words)
    return cut.text
  }

  private static func name(of path: String) -> Substring {
    path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
  }

  /// Returns only the name of `path`, or both ends of a name that does not fit.
  private static func cutName(_ path: String, to columns: Int, _ ellipsis: String) -> String {
    let name = String(name(of: path))
    if DisplayWidth.of(name) <= columns { return name }
    var cut = PathCut(name, columns: columns, ellipsis)
    cut.keep([])
    return cut.text
  }

  /// Returns the words that distinguish `paths`. They come from a small set of places whose words together distinguish the
  /// paths.
  private static func telling(_ paths: [String]) -> [String: [Range<Int>]] {
    let words = paths.map { PathWords($0) }
    let places = Set(words.flatMap(\.ranges.keys)).sorted().map { place in
      (place: place, words: Self.numbered(words.map { $0[place] }).numbers)
    }
    var chosen: [PathWords.Place] = []
    // Paths with the same words at the chosen places are in the same class.
    var (classes, count) = (Array(repeating: 0, count: paths.count), 1)
    while count < paths.count {
      var best = (place: places.first?.place, classes: classes, count: count)
      for (place, words) in places {
        // The classes after dividing each class by the word at this place.
        let split = Self.numbered(zip(classes, words).map { Pair(number: $0, word: $1) })
        if split.count > best.count { best = (place, split.numbers, split.count) }
      }
      // If no place helps, the paths differ only in the characters between words.
      guard best.count > count, let place = best.place else { break }
      chosen.append(place)
      (classes, count) = (best.classes, best.count)
    }
    let ranges = words.map { words in chosen.compactMap { words.ranges[$0] } }
    return Dictionary(uniqueKeysWithValues: zip(paths, ranges))
  }

  /// Returns a number for each value, counted from 0, and how many numbers there are. Equal values have the same number.
  private static func numbered<Value: Hashable>(
    _ values: [Value]
  ) -> (numbers: [Int], count: Int) {
    var known: [Value: Int] = [:]
    let numbers = values.map { value in
      if let number = known[value] { return number }
      known[value] = known.count
      return known.count - 1
    }
    return (numbers, known.count)
  }

  private struct Pair: Hashable {
    let number: Int
    let word: Int
  }
}

/// The words of a path. A word is a run of letters and digits, with the slash after it if there is one.
private struct PathWords {
  /// The position of a word. Paths of one kind have their words at the same places, even if they differ in depth.
  struct Place: Hashable, Comparable {
    /// The number of the component, counted from the end: 0 for the name, 1 for the directory before it. The first component,
    /// which may be a host, comes last.
    let component: Int
    /// The index of the word, counted from the end of the component.
    let word: Int

    static func < (one: Place, other: Place) -> Bool {
      (one.component, one.word) < (other.component, other.word)
    }
  }

  let ranges: [Place: Range<Int>]
  private let characters: [Character]

  init(_ path: String) {
    characters = Array(path)
    var ranges: [Place: Range<Int>] = [:]
    let components = characters.indices.split(
      omittingEmptySubsequences: false, whereSeparator: { [characters] in characters[$0] == "/" })
    for (index, component) in components.reversed().enumerated() {
      let isFirst = index > 0 && index == components.count - 1
      let words = component.split { [characters] in !characters[$0].isInWord }
      for (word, range) in words.reversed().enumerated() {
        let isLast = index > 0 && range.upperBound == component.upperBound
        ranges[Place(component: isFirst ? .max : index, word: word)] =
          range.lowerBound..<range.upperBound + (isLast ? 1 : 0)
      }
    }
    self.ranges = ranges
  }

  subscript(_ place: Place) -> String? { ranges[place].map { String(characters[$0]) } }
}

extension Character {
  fileprivate var isInWord: Bool { isLetter || isNumber }
}

/// A path that is being cut. The kept text is never wider than `columns`.
private struct PathCut {
  private let characters: [Character]
  private let widths: [Int]
  private let columns: Int
  private let ellipsis: String
  private let mark: Int
  /// The index at which the name begins.
  private let name: Int
  private var kept: [Bool]

  init(_ path: String, columns: Int, _ ellipsis: String) {
    characters = Array(path)
    widths = characters.map(DisplayWidth.of)
    self.columns = columns
    self.ellipsis = ellipsis
    mark = DisplayWidth.of(ellipsis)
    name = characters.lastIndex(of: "/").map { $0 + 1 } ?? 0
    kept = Array(repeating: false, count: characters.count)
  }

  /// Returns the number of characters that are kept first, from the end of a name.
  static func end(of columns: Int) -> Int { columns / 4 }

  /// The width of the kept text in columns, including marks.
  var width: Int {
    var (used, gap) = (0, 0)
    for index in kept.indices {
      if kept[index] {
        used += min(gap, mark) + widths[index]
        gap = 0
      } else {
        gap += widths[index]
      }
    }
    return used + min(gap, mark)
  }

  /// The kept text. A mark replaces missing text that is wider than the mark.
  var text: String {
    var (text, gap) = ("", "")
    for index in kept.indices {
      if kept[index] {
        text += (DisplayWidth.of(gap) > mark ? ellipsis : gap) + String(characters[index])
        gap = ""
      } else {
        gap.append(characters[index])
      }
    }
    return text + (DisplayWidth.of(gap) > mark ? ellipsis : gap)
  }

  /// Keeps `words`, which distinguish the path from others. First keeps a part of each word and the end of the name, then the
  /// rest as far as it fits.
  mutating func keep(_ words: [Range<Int>]) {
    let all = name..<characters.count
    keep(all.reversed().prefix(Self.end(of: columns)))
    for word in words {
      keepEnds(of: word, most: (columns - Self.end(of: columns)) / words.count - 2 * mark)
    }
    for word in words { keepAll(word) }
    for word in words.sorted(by: { $0.lowerBound > $1.lowerBound }) where word.lowerBound < name {
      keepBefore(word)
    }
    keepEnds(of: all)
    if name > 0 { keepAll(name - 1..<name) }
    for word in words {
      keepEnds(of: word)
      keepAfter(word)
    }
    keepDirectories()
  }

  /// Keeps as many of these characters as fit, in this order.
  private mutating func keep(_ indices: some Sequence<Int>) {
    for index in indices where !keepAll(index..<index + 1) { return }
  }

  /// Keeps these characters if all of them fit.
  @discardableResult
  private mutating func keepAll(_ range: Range<Int>) -> Bool {
    let before = kept[range]
    for index in range { kept[index] = true }
    if width <= columns { return true }
    kept[range] = before
    return false
  }

  /// Keeps as much of a range as fits, at most `most` characters, alternately from its end and its beginning.
  private mutating func keepEnds(of range: Range<Int>, most: Int = .max) {
    let indices = zip(range.reversed(), range).flatMap { [$0, $1] }
    keep(indices.prefix(min(max(most, 1), range.count)))
  }

  /// Keeps the text before `word` in its component, word by word, and then the slash before it.
  private mutating func keepBefore(_ word: Range<Int>) {
    var start = word.lowerBound
    while start > 0, characters[start] != "/" {
      var next = start - 1
      if characters[next] != "/" {
        while next > 0, characters[next - 1].isInWord { next -= 1 }
      }
      guard keepAll(next..<start) else { return }
      start = next
    }
  }

  /// Keeps the text after `word` in its component, word by word, and then the slash after it.
  private mutating func keepAfter(_ word: Range<Int>) {
    var end = word.upperBound
    while end < characters.count, characters[end - 1] != "/" {
      var next = end + 1
      if characters[end] != "/" {
        while next < characters.count, characters[next].isInWord { next += 1 }
      }
      guard keepAll(end..<next) else { return }
      end = next
    }
  }

  /// Keeps whole directories, beginning with the last.
  private mutating func keepDirectories() {
    guard name > 0, keepAll(name - 1..<name) else { return }
    var end = name - 1
    while end > 0 {
      let start = characters[..<end].lastIndex(of: "/") ?? 0
      guard keepAll(start..<end) else { return }
      end = start
    }
  }
}
