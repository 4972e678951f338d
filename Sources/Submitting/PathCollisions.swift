import HaulTransfer
import JobQueue

/// Finds the lines of a list whose files would be in each other's way: with one path, or with a path that another needs
/// as a directory.
struct PathCollisions {
  /// By bytes, as the file system tells names apart: String holds equivalent spellings of a letter for one.
  private typealias Path = [UInt8]

  /// The first line of each path.
  private var first: [Path: SubmitLine] = [:]
  /// What has the path of another line, and what that is.
  private var doubles: [(line: SubmitLine, other: SubmitLine)] = []
  /// What needs another's file as a directory.
  private var below: [(line: SubmitLine, other: SubmitLine)] = []

  init(_ lines: [SubmitLine]) {
    for line in lines where first[Path(line.path.utf8)] == nil {
      first[Path(line.path.utf8)] = line
    }
  }

  /// The lines without a path conflict. The same path and URL twice is no conflict.
  mutating func distinct(_ lines: [SubmitLine]) -> [SubmitLine] {
    lines.filter { line in
      if let other = other(of: line) {
        doubles.append((line, other))
        return false
      }
      return !isBelow(line)
    }
  }

  /// As ``distinct(_:)``, but what has the path of an earlier line gets the next number that is free.
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

  /// Whether a directory that the line needs is another's file, which is then kept.
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

  /// The lines that were refused, and for all of one kind the sentence about the first. `word` is what a line is called.
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
          "this path needs a directory \"\(other.path)\", which is the file of \(word) \(other.line)."
        ))
    }
    return found
  }
}
