/// The source of a list: a file or standard input.
package enum ListSource: Sendable, Equatable {
  case standardInput
  case file(String)

  /// Creates the source for an argument. `-` is standard input.
  package init(argument: String) { self = argument == "-" ? .standardInput : .file(argument) }

  /// The source's name in messages.
  package var name: String {
    switch self {
    case .standardInput: "standard input"
    case .file(let path): path
    }
  }
}

/// The entries of a list, which are read on demand. Memory use does not depend on the length of the list.
///
/// Each iteration reads the list from its start, or standard input from its current position. Iterating throws `ListError` if
/// the list cannot be read. A line that cannot be read is an item, not an error. The reader does not check whether an entry
/// makes sense as a job.
package struct ListReader: AsyncSequence, Sendable {
  package typealias Element = ListItem
  package typealias Failure = ListError

  private let source: ListSource
  private let choices: ListChoices

  /// Creates a reader without opening the list.
  package init(_ source: ListSource, _ choices: ListChoices = ListChoices()) {
    self.source = source
    self.choices = choices
  }

  /// Creates an iterator without opening the list.
  package func makeAsyncIterator() -> Iterator {
    Iterator(source: source, choices: choices)
  }

  /// An iterator that reads the list once.
  package struct Iterator: AsyncIteratorProtocol, Sendable {
    private enum Stage: Sendable {
      case reading
      /// All bytes have been read, but the splitter may still hold lines.
      case ended
      case finished
    }

    private var pieces: TextPieces
    private var cutter: ListCutter
    private var stage = Stage.reading

    init(source: ListSource, choices: ListChoices) {
      pieces = TextPieces(source)
      cutter = ListCutter(name: source.name, choices)
    }

    /// Returns the next item; nil at the end. Runs on the caller's actor, because switching actors for every line would take
    /// ten times as long as reading.
    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ListError) -> ListItem? {
      while true {
        if let item = cutter.next() { return item }
        switch stage {
        case .reading:
          if let piece = try await pieces.next() {
            cutter.append(piece)
          } else {
            cutter.end()
            stage = .ended
          }
        case .ended:
          if let item = cutter.last() { return item }
          stage = .finished
        case .finished: return nil
        }
      }
    }
  }
}
