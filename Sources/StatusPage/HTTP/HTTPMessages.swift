/// A request, as far as anything here looks at it.
struct HTTPRequest: Sendable {
  /// Fields that are read; of a field given twice the first counts.
  enum Field: String, CaseIterable, Sendable {
    case host = "Host"
    case accept = "Accept"
    case authorization = "Authorization"
    case cookie = "Cookie"
    case contentType = "Content-Type"
  }

  /// What a query may name; of a parameter given twice the first counts.
  enum Parameter: String, CaseIterable, Sendable {
    case id, before, state, batch, queue, host, error, text
  }

  var method: String
  /// Decoded, without the query.
  var path: String
  var fields: [Field: String] = [:]
  /// Decoded.
  var query: [Parameter: String] = [:]
  /// What was sent with it; cut off past ``longestBody``, and then `isTooLong`.
  var body: [UInt8] = []
  var isTooLong = false

  /// The most bytes that are taken of a body: a form with a token.
  static let longestBody = 4096
}

/// An answer, whole and in memory.
struct HTTPResponse: Sendable, Equatable {
  var status: UInt32
  var contentType: String
  /// Besides Content-Type and those that every answer has.
  var fields: [String: String] = [:]
  var body: String

  init(_ status: UInt32, _ contentType: String, _ body: String, fields: [String: String] = [:]) {
    self.status = status
    self.contentType = contentType
    self.body = body
    self.fields = fields
  }

  /// A sentence for people and programs alike.
  static func sentence(
    _ status: UInt32, _ text: String, fields: [String: String] = [:]
  ) -> HTTPResponse {
    HTTPResponse(status, "text/plain; charset=utf-8", text + "\n", fields: fields)
  }
}
