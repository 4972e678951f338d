/// One request as it arrived at an ``OriginServer``.
package struct OriginRequest: Sendable {
  /// Counts the server's requests from 1, in the order of their arrival.
  package let number: Int
  /// Counts the server's connections from 1.
  package let connection: Int
  package let method: String
  /// The request target verbatim: path and query.
  package let target: String
  /// All fields in order, names as sent.
  package let fields: [(name: String, value: String)]
  package let arrived: ContinuousClock.Instant
  /// The body, where Content-Length announces one; only the handler sees it.
  package var body: [UInt8] = []

  package var path: String {
    String(target.prefix { $0 != "?" })
  }

  /// The first field of that name, in any case of letters.
  package subscript(field name: String) -> String? {
    let name = name.lowercased()
    return fields.first { $0.name.lowercased() == name }?.value
  }

  /// `head` is everything before the empty line; nil if that is not the head of an HTTP/1 request.
  init?(head: String, number: Int, connection: Int) {
    let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = lines[0].split(separator: " ")
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
    self.number = number
    self.connection = connection
    method = String(words[0])
    target = String(words[1])
    arrived = ContinuousClock.now
    fields = lines.dropFirst().compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      return (name: String(line[..<colon]), value: String(value))
    }
  }
}
