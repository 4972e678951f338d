import HaulSystem

/// The beginning of a response that is not accepted as the file, for the error message.
struct ResponsePreview: Sendable {
  /// The number of bytes to read.
  private static let size = 2048
  /// The number of characters to show.
  private static let shown = 80

  private let reason: TransferError
  private var bytes: [UInt8] = []

  /// Creates an empty preview.
  ///
  /// - Parameter reason: why the response is not accepted; its message is one clause.
  init(_ reason: TransferError) {
    self.reason = reason
  }

  /// Adds the next bytes. Returns whether the preview has enough of them.
  mutating func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    unsafe bytes.append(contentsOf: piece.prefix(Self.size - bytes.count))
    return bytes.count >= Self.size
  }

  /// The reason, with words from the response: its title if it is HTML, otherwise its first line.
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
