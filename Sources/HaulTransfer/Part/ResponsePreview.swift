import HaulSystem

/// The beginning of a response that is not taken for the file, for the message that says so.
struct ResponsePreview: Sendable {
  /// Bytes that are read of it.
  private static let size = 2048
  /// Characters of it that are shown.
  private static let shown = 80

  private let reason: TransferError
  private var bytes: [UInt8] = []

  /// - Parameter reason: why it is not taken; its message is one clause.
  init(_ reason: TransferError) {
    self.reason = reason
  }

  /// Takes the next bytes. Returns whether it has enough.
  mutating func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    unsafe bytes.append(contentsOf: piece.prefix(Self.size - bytes.count))
    return bytes.count >= Self.size
  }

  /// The reason, with what the response says: its title where it is HTML, else its first line.
  var error: TransferError {
    var error = reason
    error.body = bytes
    if let text { error.message += ": \"\(text)\"" }
    return error
  }

  private var text: String? {
    let all = String(decoding: bytes, as: UTF8.self)
    let title = all.firstMatch(of: #/<title[^>]*>([^<]+)/#.ignoresCase())?.1
    let line =
      title
      ?? all.split(whereSeparator: \.isNewline).first { line in
        line.contains { $0.isLetter || $0.isNumber }
      }
    guard let line else { return nil }
    let printable = line.unicodeScalars.filter { $0.properties.generalCategory != .control }
    let words = String(String.UnicodeScalarView(printable)).split(separator: " ").joined(
      separator: " ")
    guard !words.isEmpty, !words.contains("\u{FFFD}") else { return nil }
    return words.count > Self.shown ? words.prefix(Self.shown - 1) + "…" : words
  }
}
