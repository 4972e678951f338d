/// The parts of a request that the server uses.
struct HTTPRequest: Sendable {
  /// Header fields that are read. If a field repeats, the first one counts.
  enum Field: String, CaseIterable, Sendable {
    case host = "Host"
    case accept = "Accept"
    case authorization = "Authorization"
    case cookie = "Cookie"
    case contentType = "Content-Type"
  }

  /// Query parameters. If a parameter repeats, the first one counts.
  enum Parameter: String, CaseIterable, Sendable {
    case id, before, state, batch, queue, host, error, text
  }

  var method: String
  /// Decoded, without the query.
  var path: String
  var fields: [Field: String] = [:]
  /// Decoded.
  var query: [Parameter: String] = [:]
  /// The body, cut off after ``longestBody``; then `isTooLong` is set.
  var body: [UInt8] = []
  var isTooLong = false

  /// Maximum size of a body in bytes: a form with a token.
  static let longestBody = 4096
}

/// A complete response in memory.
struct HTTPResponse: Sendable, Equatable {
  var status: UInt32
  var contentType: String
  /// Header fields besides Content-Type and those of every response.
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
