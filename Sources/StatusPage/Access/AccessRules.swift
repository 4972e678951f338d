/// A URL path that the server serves.
enum Endpoint: String, CaseIterable, Sendable {
  case page = "/"
  case state = "/api/state"
  case jobs = "/api/jobs"
  case job = "/api/job"
  case metrics = "/metrics"
  case health = "/healthz"
  case readiness = "/readyz"
  case login = "/login"

  /// Whether the response needs the database.
  var readsDatabase: Bool { self != .health && self != .login }
}

/// Decides how to answer a request. The decision depends only on the request, the token and the time.
struct AccessRules: Sendable {
  /// The way to answer a request.
  enum Verdict: Sendable, Equatable {
    /// The server answers the request. `isKnown` is true if the client has the token, or needs none.
    case serve(Endpoint, isKnown: Bool)
    /// The server shows the login form. The text is a sentence if the last token was wrong; otherwise nil.
    case askToken(status: UInt32, String?)
    /// The server begins a session for the client, because the token was right.
    case begin(session: String)
    case answer(HTTPResponse)
  }

  static let cookie = "haul_session"

  /// The token; nil if only this machine can connect. In this case every user on this machine may connect.
  let token: ListenToken?

  /// Returns the way to answer a request at `now`, in seconds since 1970.
  func verdict(on request: HTTPRequest, now: Int64) -> Verdict {
    if token == nil, !Self.isLocal(host: request.fields[.host] ?? "") {
      return .answer(
        .sentence(
          403,
          "Without a token, Haul shows this page only under localhost or a loopback address. Open it as http://localhost with the same port."
        )
      )
    }
    guard let endpoint = Endpoint(rawValue: request.path), endpoint != .login || token != nil else {
      return .answer(.sentence(404, "There is no such page."))
    }
    let isForm = endpoint == .login && request.method == "POST"
    guard isForm || request.method == "GET" || request.method == "HEAD" else {
      let allowed = endpoint == .login ? "GET, HEAD, POST" : "GET, HEAD"
      return .answer(.sentence(405, "The status page is read-only.", fields: ["Allow": allowed]))
    }
    if isForm { return login(request, now: now) }
    if endpoint == .login { return .askToken(status: 200, nil) }
    let isKnown = isKnown(request, now: now)
    if isKnown || endpoint == .health || endpoint == .readiness {
      return .serve(endpoint, isKnown: isKnown)
    }
    if endpoint == .page {
      return .answer(.sentence(303, "Log in first.", fields: ["Location": Endpoint.login.rawValue]))
    }
    return .answer(
      .sentence(
        401, "This address needs a token. Log in at /login, or send the token as a bearer token.",
        fields: ["WWW-Authenticate": "Bearer realm=\"haul\""]))
  }

  private func isKnown(_ request: HTTPRequest, now: Int64) -> Bool {
    guard let token else { return true }
    if let field = request.fields[.authorization] {
      let words = field.split(separator: " ", maxSplits: 1)
      return words.count == 2 && words[0].lowercased() == "bearer" && token.matches("\(words[1])")
    }
    guard let session = Self.cookie(Self.cookie, in: request.fields[.cookie] ?? "") else {
      return false
    }
    return token.isSession(session, now: now)
  }

  private func login(_ request: HTTPRequest, now: Int64) -> Verdict {
    guard let token, !request.isTooLong else {
      return .answer(.sentence(413, "The request is too long. Send only the token."))
    }
    let type = request.fields[.contentType]?.split(separator: ";").first?.lowercased()
    guard type == "application/x-www-form-urlencoded" else {
      return .answer(
        .sentence(415, "Send the token as a form of type application/x-www-form-urlencoded."))
    }
    let given = Self.formValue("token", in: String(decoding: request.body, as: UTF8.self))
    guard token.matches(given ?? "") else {
      return .askToken(status: 403, "Wrong token.")
    }
    return .begin(session: token.session(now: now))
  }

  /// Returns whether a Host field names a loopback address. This rejects foreign host names that resolve to this machine (DNS
  /// rebinding).
  static func isLocal(host: String) -> Bool {
    var name = host.lowercased()
    if let end = name.lastIndex(of: ":"), name.last != "]",
      name[name.index(after: end)...].allSatisfy(\.isNumber)
    {
      name = String(name[..<end])
    }
    return name == "localhost" || ListenAddress("\(name):0")?.isLoopback == true
  }

  /// Returns the value of a cookie (RFC 6265 §4.2.1); nil if there is none. If the name repeats, the first one counts.
  static func cookie(_ name: String, in field: String) -> String? {
    for pair in field.split(separator: ";") {
      let sides = pair.split(separator: "=", maxSplits: 1)
      if sides.count == 2, sides[0].filter({ $0 != " " }) == name {
        return String(sides[1])
      }
    }
    return nil
  }

  /// Returns the value of a form field as browsers send it (WHATWG URL, "application/x-www-form-urlencoded"); nil if the form
  /// lacks it.
  static func formValue(_ name: String, in form: String) -> String? {
    for pair in form.split(separator: "&") {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if sides.count == 2, sides[0] == name { return decoded(sides[1]) }
    }
    return nil
  }

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy(\.isHexDigit),
        let value = UInt8(digits, radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
