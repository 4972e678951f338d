/// The parts of a request that the server uses.
struct HTTPRequest: Sendable {
  /// A header field that the server reads. If a field repeats, the first one counts.
  enum Field: String, CaseIterable, Sendable {
    case host = "Host"
    case accept = "Accept"
    case authorization = "Authorization"
    case cookie = "Cookie"
    case contentType = "Content-Type"
  }

  /// A query parameter. If a parameter repeats, the first one counts.
  enum Parameter: String, CaseIterable, Sendable {
    case id, before, state, batch, queue, host, error, text
  }

  var method: String
  /// The decoded path, without the query.
  var path: String
  var fields: [Field: String] = [:]
  /// The decoded query parameters.
  var query: [Parameter: String] = [:]
  /// The body. A longer body is cut off after ``longestBody``, and `isTooLong` is set.
  var body: [UInt8] = []
  var isTooLong = false

  /// The largest size of a body in bytes. The only body is a form with a token.
  static let longestBody = 4096
}

/// A complete response in memory.
struct HTTPResponse: Sendable, Equatable {
  var status: UInt32
  var contentType: String
  /// The header fields except Content-Type and the fields of every response.
  var fields: [String: String] = [:]
  var body: String

  init(_ status: UInt32, _ contentType: String, _ body: String, fields: [String: String] = [:]) {
    self.status = status
    self.contentType = contentType
    self.body = body
    self.fields = fields
  }

  /// Returns a response with a sentence for people and programs alike.
  static func sentence(
    _ status: UInt32, _ text: String, fields: [String: String] = [:]
  ) -> HTTPResponse {
    HTTPResponse(status, "text/plain; charset=utf-8", text + "\n", fields: fields)
  }
}
