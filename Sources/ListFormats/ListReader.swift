/// Where a list comes from.
package enum ListSource: Sendable, Equatable {
  case standardInput
  case file(String)

  /// `-` is standard input.
  package init(argument: String) { self = argument == "-" ? .standardInput : .file(argument) }

  /// The source's name in messages.
  package var name: String {
    switch self {
    case .standardInput: "standard input"
    case .file(let path): path
    }
  }
}

/// The entries of a list, read as they are asked for: constant memory however long the list.
///
/// Each iteration reads the list from its start (standard input: from where it stands).
/// Iterating throws `ListError`; a line that cannot be read is an item as well, and an entry that makes no sense as a
/// job is not an error here.
package struct ListReader: AsyncSequence, Sendable {
  package typealias Element = ListItem
  package typealias Failure = ListError

  private let source: ListSource
  private let choices: ListChoices

  /// Opens nothing yet.
  package init(_ source: ListSource, _ choices: ListChoices = ListChoices()) {
    self.source = source
    self.choices = choices
  }

  /// Opens nothing yet.
  package func makeAsyncIterator() -> Iterator {
    Iterator(source: source, choices: choices)
  }

  /// One pass over a list.
  package struct Iterator: AsyncIteratorProtocol, Sendable {
    private enum Stage: Sendable {
      case unopened
      case reading(BlockingFile)
      /// All bytes are in the splitter, which may hold lines still.
      case ended
      case finished
    }

    /// Bytes read at once.
    private static let pieceSize = 256 << 10

    private let source: ListSource
    private var cutter: ListCutter
    private var stage = Stage.unopened

    init(source: ListSource, choices: ListChoices) {
      self.source = source
      cutter = ListCutter(name: source.name, choices)
    }

    /// The next item, nil at the end. Stays on the caller's actor: a hop for every line would cost
    /// ten times the reading.
    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ListError) -> ListItem? {
      while true {
        if let item = cutter.next() { return item }
        switch stage {
        case .unopened:
          let file = try await BlockingFile.open(source)
          let piece = try await file.read(atMost: Self.pieceSize)
          if let fault = TextCheck.fault(of: piece) { throw .noText(fault) }
          take(piece, of: file)
        case .reading(let file): take(try await file.read(atMost: Self.pieceSize), of: file)
        case .ended:
          if let item = cutter.last() { return item }
          stage = .finished
        case .finished: return nil
        }
      }
    }

    private mutating func take(_ piece: [UInt8], of file: BlockingFile) {
      if piece.isEmpty {
        cutter.end()
        stage = .ended
      } else {
        cutter.append(piece)
        stage = .reading(file)
      }
    }
  }
}
