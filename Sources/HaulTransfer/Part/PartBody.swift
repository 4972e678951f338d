/// The body being received, or the last one: where its bytes go and how far it has come. Guarded by its transfer's lock.
struct PartBody: Sendable {
  /// What is done with the bytes.
  enum Use: Sendable {
    /// Written to the part file.
    case write(FileWriter)
    /// Only digested, to be compared with the first download (row 23).
    case compare(DigestContext)
  }

  let use: Use
  /// The record that a checkpoint is made of; nil while the length is not known.
  var record: Checkpoint?
  /// 1 for the first body that starts a part file, 2 for the next, …; 0 for an earlier attempt's part.
  let generation: Int
  /// Whether it is a range of a representation, or the whole.
  private(set) var isPart = false
  /// Offset of the next byte.
  private(set) var position: Int64 = 0
  /// Bytes before this are on disk already and only compared.
  private(set) var compareUntil: Int64 = 0
  /// Whether what was there comes again, so that only the position tells how far it is.
  var comesAgain: Bool
  /// Bytes of the file that were there when this range began.
  private var before: Int64 = 0
  /// One past the last byte announced; nil where nothing was.
  private(set) var end: Int64?
  /// More came than was announced; it was dropped.
  private(set) var hasExcess = false

  /// A body of a new representation.
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

  /// Takes the next `count` bytes. Returns where they go, and how many of them are wanted.
  mutating func take(_ count: Int) -> (offset: Int64, wanted: Int) {
    let offset = position
    let wanted = end.map { Int(min(Int64(count), max(0, $0 - offset))) } ?? count
    hasExcess = hasExcess || wanted < count
    position += Int64(wanted)
    return (offset, wanted)
  }

  /// Bytes of the file so far: those of earlier answers and the position in this one.
  var bytes: Int64 {
    isPart
      ? before + max(0, position - compareUntil)
      : comesAgain ? position : max(position, record?.durable.count ?? 0)
  }

  /// Whether a byte was kept that was not there before.
  var hasProgress: Bool { position > compareUntil }

  /// The file writer, where the bytes are kept.
  var writer: FileWriter? {
    if case .write(let writer) = use { writer } else { nil }
  }

  /// Whether as many bytes came as the answer had announced.
  var isAsAnnounced: Bool { position == end }

  /// How it ended, for `decideEnd`. `record` is up to date.
  func ended(_ framing: Framing) -> Body {
    let kind: Body.Kind =
      isPart
      ? .part(end: end ?? position, allThere: record?.isComplete ?? false) : .whole(length: end)
    return Body(
      kind: kind, framing: hasExcess ? .excess : framing, end: position, progress: hasProgress)
  }
}
