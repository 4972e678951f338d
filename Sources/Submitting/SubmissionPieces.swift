package import JobQueue
package import ListFormats
import Terminal

/// The lines of a list, checked, some thousands at a time: constant memory however long the list.
package struct SubmissionPieces: AsyncSequence, Sendable {
  package typealias Element = [SubmitLine]
  package typealias Failure = any Error

  package let reader: SubmissionReader
  package let list: ListSource
  package let problems: LineProblems
  private var begun: Iterator?

  package init(reader: SubmissionReader, list: ListSource, problems: LineProblems) {
    self.reader = reader
    self.list = list
    self.problems = problems
  }

  /// These pieces with the first one read already, for one iteration. A missing or empty list is thus reported before
  /// anything else happens.
  package func begin() async throws -> SubmissionPieces {
    var iterator = makeAsyncIterator()
    iterator.pending = try await iterator.next(isolation: nil)
    var pieces = self
    pieces.begun = iterator
    return pieces
  }

  /// Whether no line is right. Known once begun.
  package var isEmpty: Bool { begun.map { $0.pending == nil } ?? false }

  package func makeAsyncIterator() -> Iterator {
    begun
      ?? Iterator(
        items: ListReader(list, reader.choices).makeAsyncIterator(), reader: reader,
        name: list.name, problems: problems)
  }

  package struct Iterator: AsyncIteratorProtocol, Sendable {
    /// Lines in a piece.
    private static let size = 10_000

    var items: ListReader.Iterator
    let reader: SubmissionReader
    let name: String
    let problems: LineProblems
    var isOver = false
    /// Read already.
    var pending: [SubmitLine]?

    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> [SubmitLine]? {
      if let piece = pending {
        pending = nil
        return piece
      }
      if isOver { return nil }
      var lines: [SubmitLine] = []
      lines.reserveCapacity(Self.size)
      do {
        while lines.count < Self.size {
          guard let item = try await items.next(isolation: actor) else {
            isOver = true
            return lines.isEmpty ? nil : lines
          }
          switch item {
          case .entry(let entry):
            if let line = reader.line(entry, place: "\(name):\(entry.line): ", problems) {
              lines.append(line)
            }
          case .problem(let line, let reason):
            problems.add(.init(line, at: "\(name):\(line): ", "\(reason)."))
          case .notice(let text): reader.display.say("\(name): \(text)")
          }
        }
        return lines
      } catch {
        throw reader.error(error, in: name)
      }
    }
  }
}

extension AsyncStream where Element == [SubmitLine] {
  /// Makes a stream of one piece.
  package init(_ lines: [SubmitLine]) {
    self.init { continuation in
      continuation.yield(lines)
      continuation.finish()
    }
  }
}
