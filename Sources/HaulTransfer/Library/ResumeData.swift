/// What a paused or broken download is continued from: in this process or another, on the machine that
/// has the partial file. The bytes that it names are durable.
public struct ResumeData: Sendable, Hashable {
  /// A waiting download has room for a reference alone.
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

  /// Resume data made of their parts, for tests of your own code: a download that begins with them finds no partial file that it
  /// could continue, and begins at 0.
  public init(url: String, partialFile: String, bytes: Int64, expected: Int64) {
    let (directory, name) = DownloadTarget.split(partialFile)
    var checkpoint = Checkpoint(
      url: url, completeLength: max(0, expected), validator: nil,
      durable: ByteRanges(0..<max(0, min(bytes, expected))), part: name, inode: 0)
    checkpoint.directory = directory
    box = Box(checkpoint)
  }

  /// Reads what ``json()`` gives.
  ///
  /// - Throws: `io` where it is anything else.
  public init(json: [UInt8]) throws(TransferError) {
    guard let data = ResumeData(try? Checkpoint(resumeData: json)) else {
      throw TransferError(.io, "these are no resume data")
    }
    self = data
  }

  /// For a file or a database. It holds the URL, and no other secret.
  public func json() throws(TransferError) -> [UInt8] {
    do {
      return try checkpoint.resumeData()
    } catch {
      throw TransferError(.io, "resume data cannot be written: \(error)")
    }
  }

  /// The original URL.
  public var url: String { checkpoint.url ?? "" }
  /// Bytes that need not be fetched again.
  public var bytes: Int64 { checkpoint.durable.count }
  /// The length of the whole file.
  public var expected: Int64 { checkpoint.completeLength }
  /// The partial file.
  public var partialFile: String {
    checkpoint.directory.map { "\($0)/\(checkpoint.part)" } ?? checkpoint.part
  }
}

extension ResumeData {
  /// Whether both name the same bytes of the same file.
  public static func == (one: ResumeData, other: ResumeData) -> Bool {
    one.checkpoint == other.checkpoint
  }

  /// Hashes what is compared.
  public func hash(into hasher: inout Hasher) { hasher.combine(checkpoint) }
}

extension ResumeData: Codable {
  /// Reads what ``encode(to:)`` writes, and what ``json()`` gives.
  public init(from decoder: any Decoder) throws {
    guard let data = ResumeData(try Checkpoint(from: decoder)) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "resume data without a URL"))
    }
    self = data
  }

  /// Writes the same keys as ``json()``, as a part of what the program saves.
  public func encode(to encoder: any Encoder) throws { try checkpoint.encode(to: encoder) }
}

extension ResumeData: CustomStringConvertible {
  /// `150000 of 300000 bytes`. Never the URL, which may be secret.
  public var description: String { "\(bytes) of \(expected) bytes" }
}
