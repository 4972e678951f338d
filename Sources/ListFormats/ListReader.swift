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
  private let format: ListFormat?

  /// Opens nothing yet. Without a format it is told by the list's name and first line.
  package init(_ source: ListSource, format: ListFormat? = nil) {
    self.source = source
    self.format = format
  }

  /// Opens nothing yet.
  package func makeAsyncIterator() -> Iterator {
    Iterator(source: source, parser: format?.makeParser() ?? AnyLines(name: source.name))
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
    private var parser: any ListParser
    private var splitter = LineSplitter()
    private var stage = Stage.unopened

    init(source: ListSource, parser: any ListParser) {
      self.source = source
      self.parser = parser
    }

    /// The next item, nil at the end. Stays on the caller's actor: a hop for every line would cost
    /// ten times the reading.
    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ListError) -> ListItem? {
      while true {
        while let line = splitter.next() {
          if let item = parser.parse(line) { return item }
        }
        switch stage {
        case .unopened:
          let file = try await BlockingFile.open(source)
          let piece = try await file.read(atMost: Self.pieceSize)
          if let fault = TextCheck.fault(of: piece) { throw .noText(fault) }
          take(piece, of: file)
        case .reading(let file): take(try await file.read(atMost: Self.pieceSize), of: file)
        case .ended:
          if let item = parser.finish() { return item }
          stage = .finished
        case .finished: return nil
        }
      }
    }

    private mutating func take(_ piece: [UInt8], of file: BlockingFile) {
      if piece.isEmpty {
        splitter.end()
        stage = .ended
      } else {
        splitter.append(piece)
        stage = .reading(file)
      }
    }
  }
}
