/// The data for continuing a paused or interrupted download. Any process on the machine that has the partial file can use the
/// data. ``bytes`` counts only durable bytes.
public struct ResumeData: Sendable, Hashable {
  /// Holds the checkpoint, so that each waiting download stores only a reference.
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

  /// Creates resume data for tests of your own code. A download that starts from these data finds no partial file, and begins
  /// at byte 0.
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
  /// - Throws: `io` if the bytes are not resume data.
  public init(json: [UInt8]) throws(TransferError) {
    guard let data = ResumeData(try? Checkpoint(resumeData: json)) else {
      throw TransferError(.io, "the JSON is not resume data")
    }
    self = data
  }

  /// Returns the resume data as JSON, for a file or a database. The JSON contains the URL, which may be secret, and no other
  /// secret.
  public func json() throws(TransferError) -> [UInt8] {
    do {
      return try checkpoint.resumeData()
    } catch {
      throw TransferError(.io, "cannot encode the resume data: \(error)")
    }
  }

  /// The original URL.
  public var url: String { checkpoint.url ?? "" }
  /// The number of bytes that Haul need not download again.
  public var bytes: Int64 { checkpoint.durable.count }
  /// The length of the whole file in bytes.
  public var expected: Int64 { checkpoint.completeLength }
  /// The path of the partial file.
  public var partialFile: String {
    checkpoint.directory.map { "\($0)/\(checkpoint.part)" } ?? checkpoint.part
  }
}

extension ResumeData {
  /// Returns whether both values describe the same bytes of the same partial file.
  public static func == (one: ResumeData, other: ResumeData) -> Bool {
    one.checkpoint == other.checkpoint
  }

  /// Hashes the values that `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(checkpoint) }
}

extension ResumeData: Codable {
  /// Decodes the resume data that ``encode(to:)`` or ``json()`` wrote.
  public init(from decoder: any Decoder) throws {
    guard let data = ResumeData(try Checkpoint(from: decoder)) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "the resume data has no URL"))
    }
    self = data
  }

  /// Encodes the resume data as a part of your program's data, with the keys of ``json()``.
  public func encode(to encoder: any Encoder) throws { try checkpoint.encode(to: encoder) }
}

extension ResumeData: CustomStringConvertible {
  /// The number of durable bytes, such as `150000 of 300000 bytes`. The text never contains the URL, which may be secret.
  public var description: String { "\(bytes) of \(expected) bytes" }
}
