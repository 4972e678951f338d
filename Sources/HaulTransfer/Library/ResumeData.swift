/// The data with which a paused or interrupted download continues, in this process or another, on the machine that has
/// the partial file. The bytes that they name are durable.
public struct ResumeData: Sendable, Hashable {
  /// Holds the checkpoint, so that a waiting download needs memory for a reference only.
  private final class Box: Sendable {
    let checkpoint: Checkpoint

    init(_ checkpoint: Checkpoint) { self.checkpoint = checkpoint }
  }

  private let box: Box
  var checkpoint: Checkpoint { box.checkpoint }

  init?(_ checkpoint: Checkpoint?) {
    guard let checkpoint, checkpoint.url != nil else { return nil }
    box = Box(checkpoint)
  }

  /// Creates resume data for tests of your own code. A download that begins with them finds no partial file to
  /// continue, and begins at 0.
  public init(url: String, partialFile: String, bytes: Int64, expected: Int64) {
    let (directory, name) = DownloadTarget.split(partialFile)
    var checkpoint = Checkpoint(
      url: url, completeLength: max(0, expected), validator: nil,
      durable: ByteRanges(0..<max(0, min(bytes, expected))), part: name, inode: 0)
    checkpoint.directory = directory
    box = Box(checkpoint)
  }

  /// Reads the JSON that ``json()`` returns.
  ///
  /// - Throws: `io` for any other bytes.
  public init(json: [UInt8]) throws(TransferError) {
    guard let data = ResumeData(try? Checkpoint(resumeData: json)) else {
      throw TransferError(.io, "this is not resume data")
    }
    self = data
  }

  /// Returns JSON for a file or a database. It holds the URL, and no other secret.
  public func json() throws(TransferError) -> [UInt8] {
    do {
      return try checkpoint.resumeData()
    } catch {
      throw TransferError(.io, "cannot encode the resume data: \(error)")
    }
  }

  /// The original URL.
  public var url: String { checkpoint.url ?? "" }
  /// The number of bytes that need not be fetched again.
  public var bytes: Int64 { checkpoint.durable.count }
  /// The length of the whole file in bytes.
  public var expected: Int64 { checkpoint.completeLength }
  /// The path of the partial file.
  public var partialFile: String {
    checkpoint.directory.map { "\($0)/\(checkpoint.part)" } ?? checkpoint.part
  }
}

extension ResumeData {
  /// Returns whether both name the same bytes of the same file.
  public static func == (one: ResumeData, other: ResumeData) -> Bool {
    one.checkpoint == other.checkpoint
  }

  /// Hashes the values that `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(checkpoint) }
}

extension ResumeData: Codable {
  /// Reads what ``encode(to:)`` writes or ``json()`` returns.
  public init(from decoder: any Decoder) throws {
    guard let data = ResumeData(try Checkpoint(from: decoder)) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "the resume data has no URL"))
    }
    self = data
  }

  /// Writes the same keys as ``json()``, as a part of the data that the program saves.
  public func encode(to encoder: any Encoder) throws { try checkpoint.encode(to: encoder) }
}

extension ResumeData: CustomStringConvertible {
  /// The finished bytes, such as `150000 of 300000 bytes`. The text never has the URL, which may be secret.
  public var description: String { "\(bytes) of \(expected) bytes" }
}
