import HaulTransfer
import JobQueue

/// Finds lines of a list whose files conflict: they have the same path, or one needs the other's path as a directory.
struct PathCollisions {
  /// A path as bytes, as the file system compares names. `String` treats equivalent spellings of a letter as equal.
  private typealias Path = [UInt8]

  /// The first line of each path.
  private var first: [Path: SubmitLine] = [:]
  /// Each line with the same path as an earlier line, and that earlier line.
  private var doubles: [(line: SubmitLine, other: SubmitLine)] = []
  /// Each line that needs another line's file as a directory, with that other line.
  private var below: [(line: SubmitLine, other: SubmitLine)] = []

  init(_ lines: [SubmitLine]) {
    for line in lines where first[Path(line.path.utf8)] == nil {
      first[Path(line.path.utf8)] = line
    }
  }

  /// Returns the lines without a path conflict. Two lines with the same path and the same URL do not conflict.
  mutating func distinct(_ lines: [SubmitLine]) -> [SubmitLine] {
    lines.filter { line in
      if let other = other(of: line) {
        doubles.append((line, other))
        return false
      }
      return !isBelow(line)
    }
  }

  /// Returns the lines without a path conflict. A line with the path of an earlier line gets the next free number in its name.
  mutating func numbered(_ lines: [SubmitLine]) -> [SubmitLine] {
    var last: [Path: Int] = [:]
    return lines.compactMap { line in
      var line = line
      if other(of: line) != nil, let path = try? RelativePath(line.path) {
        let key = Path(line.path.utf8)
        var number = last[key] ?? 0
        repeat {
          number += 1
          line.path = "\(path.numbered(number))"
        } while first[Path(line.path.utf8)] != nil
        last[key] = number
        first[Path(line.path.utf8)] = line
      }
      return isBelow(line) ? nil : line
    }
  }

  private func other(of line: SubmitLine) -> SubmitLine? {
    first[Path(line.path.utf8)].flatMap {
      $0.url.utf8.elementsEqual(line.url.utf8) ? nil : $0
    }
  }

  /// Returns whether the line needs another line's file as a directory. If so, it records the conflict.
  private mutating func isBelow(_ line: SubmitLine) -> Bool {
    let path = Path(line.path.utf8)
    for index in path.indices where path[index] == UInt8(ascii: "/") {
      if let other = first[Path(path[..<index])] {
        below.append((line, other))
        return true
      }
    }
    return false
  }

  /// Returns the rejected lines of each kind of conflict, with a sentence about the first line. `word` is the word for a line.
  func collisions(_ word: String) -> [(lines: [Int], reason: String)] {
    var found: [(lines: [Int], reason: String)] = []
    if let (line, other) = doubles.first {
      found.append(
        (doubles.map(\.line.line), "\(word) \(other.line) has the same path \"\(line.path)\"."))
    }
    if let (_, other) = below.first {
      found.append(
        (
          below.map(\.line.line),
          "this path needs a directory \"\(other.path)\", but \(word) \(other.line) saves its file there."
        ))
    }
    return found
  }
}
