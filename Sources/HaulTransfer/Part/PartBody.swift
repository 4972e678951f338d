/// The body being received, or the last one: where its bytes go, and how many have come. Guarded by its transfer's lock.
struct PartBody: Sendable {
  /// What happens to the bytes.
  enum Use: Sendable {
    /// The bytes of the body are written to the part file.
    case write(FileWriter)
    /// The bytes of the body are digested and not written. Haul downloads the file a second time and compares the digest with
    /// the first download, because nothing else proves that the first download is complete (row 23 of the decision table).
    case compare(DigestContext)
  }

  let use: Use
  /// The record for the checkpoint; nil if no checkpoint is possible: the length is not known, or the body is on trial.
  var record: Checkpoint?
  /// The number of the body that started the part file: 1 for the first, 2 for the next, …; 0 for an earlier attempt's part.
  let generation: Int
  /// Whether the body is a range of a representation, and not the whole.
  private(set) var isPart = false
  /// The offset of the next byte.
  private(set) var position: Int64 = 0
  /// Bytes before this offset are already on disk, and are only compared.
  private(set) var compareUntil: Int64 = 0
  /// Whether the body repeats bytes that the part already has. ``bytes`` is then the position in this body.
  var comesAgain: Bool
  /// The number of the file's bytes that were durable when this range began.
  private var before: Int64 = 0
  /// The offset after the last announced byte; nil if no length was announced.
  private(set) var end: Int64?
  /// Whether more bytes came than announced. The excess bytes were dropped.
  private(set) var hasExcess = false

  /// Creates a body for a new representation.
  init(
    _ use: Use, record: Checkpoint?, length: Int64?, generation: Int, compareUntil: Int64 = 0
  ) {
    self.use = use
    self.record = record
    self.generation = generation
    self.compareUntil = compareUntil
    comesAgain = compareUntil > 0
    end = length
  }

  /// Continues with a range of the same representation.
  mutating func begin(start: Int64, compareUntil: Int64, end: Int64) {
    isPart = true
    before = record?.durable.count ?? 0
    position = start
    self.compareUntil = compareUntil
    self.end = end
    hasExcess = false
  }

  /// Counts the next `count` bytes. Returns their offset and how many of them to keep.
  mutating func take(_ count: Int) -> (offset: Int64, wanted: Int) {
    let offset = position
    let wanted = end.map { Int(min(Int64(count), max(0, $0 - offset))) } ?? count
    hasExcess = hasExcess || wanted < count
    position += Int64(wanted)
    return (offset, wanted)
  }

  /// The number of bytes of the file so far, from earlier responses and from this one.
  var bytes: Int64 {
    isPart
      ? before + max(0, position - compareUntil)
      : comesAgain ? position : max(position, record?.durable.count ?? 0)
  }

  /// Whether a new byte was kept.
  var hasProgress: Bool { position > compareUntil }

  /// The file writer, or nil if the bytes are only digested.
  var writer: FileWriter? {
    if case .write(let writer) = use { writer } else { nil }
  }

  /// Whether exactly the announced number of bytes came.
  var isAsAnnounced: Bool { position == end }

  /// Returns the facts about the end of this body that `decideEnd` needs. `record` must be up to date.
  func ended(_ framing: Framing) -> Body {
    let kind: Body.Kind =
      isPart
      ? .part(end: end ?? position, allThere: record?.isComplete ?? false) : .whole(length: end)
    return Body(
      kind: kind, framing: hasExcess ? .excess : framing, end: position, progress: hasProgress)
  }
}
