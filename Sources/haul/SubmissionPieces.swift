import Arguments
import JobQueue
import ListFormats
import Terminal

/// The lines of a list, checked, some thousands at a time: constant memory however long the list.
struct SubmissionPieces: AsyncSequence, Sendable {
  typealias Element = [SubmitLine]
  typealias Failure = any Error

  let reader: SubmissionReader
  let list: ListSource
  let problems: LineProblems

  func makeAsyncIterator() -> Iterator {
    Iterator(
      items: ListReader(list, format: reader.format).makeAsyncIterator(), reader: reader,
      name: list.name, problems: problems)
  }

  struct Iterator: AsyncIteratorProtocol {
    /// Lines in a piece.
    private static let size = 10_000

    var items: ListReader.Iterator
    let reader: SubmissionReader
    let name: String
    let problems: LineProblems
    var isOver = false

    mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> [SubmitLine]? {
      if isOver { return nil }
      var lines: [SubmitLine] = []
      lines.reserveCapacity(Self.size)
      do {
        while lines.count < Self.size {
          guard let item = try await items.next(isolation: actor) else {
            isOver = true
            if let error = reader.conclude(problems) { throw error }
            return lines.isEmpty ? nil : lines
          }
          switch item {
          case .entry(let entry):
            if let line = reader.line(entry, place: "\(name):\(entry.line): ", problems) {
              lines.append(line)
            }
          case .problem(let line, let reason): problems.add("\(name):\(line): \(reason).")
          case .notice(let text): reader.display.say("\(name): \(text)")
          }
        }
        return lines
      } catch let error as ListError {
        throw reader.error(error, in: name)
      }
    }
  }
}
