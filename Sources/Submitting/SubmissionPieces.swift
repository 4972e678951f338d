package import JobQueue
package import ListFormats
import Terminal

/// The valid lines of a list, in pieces of at most 10,000 lines. Memory use does not depend on the length of the list.
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

  /// Reads the first piece. Returns the same sequence with that piece already read; you can iterate the result only once. Call
  /// this first, so that a missing or empty list is reported before the command does anything else.
  package func begin() async throws -> SubmissionPieces {
    var iterator = makeAsyncIterator()
    iterator.pending = try await iterator.next(isolation: nil)
    var pieces = self
    pieces.begun = iterator
    return pieces
  }

  /// Whether the list has no valid line. False until `begin` has returned.
  package var isEmpty: Bool { begun.map { $0.pending == nil } ?? false }

  package func makeAsyncIterator() -> Iterator {
    begun
      ?? Iterator(
        items: ListReader(list, reader.choices).makeAsyncIterator(), reader: reader,
        name: list.name, problems: problems)
  }

  package struct Iterator: AsyncIteratorProtocol, Sendable {
    /// The maximum number of lines in a piece.
    private static let size = 10_000

    var items: ListReader.Iterator
    let reader: SubmissionReader
    let name: String
    let problems: LineProblems
    var isOver = false
    /// The piece that was already read, or nil.
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
          case .ignored(let text): reader.display.say("\(name): \(text)", as: .warning)
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
  /// Creates a sequence of one piece with the lines `lines`.
  package init(_ lines: [SubmitLine]) {
    self.init { continuation in
      continuation.yield(lines)
      continuation.finish()
    }
  }
}
