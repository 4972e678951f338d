import Testing

@testable import StatusPage

struct AccessTests {
  private static let secret = "0123456789abcdef"
  private static let now: Int64 = 1_800_000_000

  private func request(
    _ path: String, _ method: String = "GET", _ fields: [HTTPRequest.Field: String] = [:],
    body: String = ""
  ) -> HTTPRequest {
    HTTPRequest(
      method: method, path: path, fields: [.host: "127.0.0.1:9464"].merging(fields) { $1 },
      body: Array(body.utf8))
  }

  private func status(_ verdict: AccessRules.Verdict) -> UInt32? {
    guard case .answer(let response) = verdict else { return nil }
    return response.status
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("127.0.0.1:9464", true), ("127.8.8.8:1", true), ("localhost", true),
    ("LOCALHOST:9464", true), ("[::1]", true), ("[::1]:9464", true), ("", false),
    ("example.org", false), ("example.org:9464", false), ("localhost.example.org", false),
    ("127.0.0.1.example.org", false), ("10.0.0.1:9464", false), ("[::2]:9464", false),
    ("::1", false), ("127.0.0.1:9464:1", false), ("localhost:x", false), ("a@127.0.0.1", false),
  ])
  func `only names of this machine itself are answered without a token`(host: String, isLocal: Bool)
  {
    #expect(AccessRules.isLocal(host: host) == isLocal)
    let verdict = AccessRules(token: nil).verdict(
      on: request("/", "GET", [.host: host]), now: Self.now)
    #expect((status(verdict) == nil) == isLocal)
  }

  @Test(
    arguments: [
      ("/", "GET", nil), ("/", "HEAD", nil), ("/metrics", "GET", nil), ("/healthz", "GET", nil),
      ("/", "POST", 405), ("/metrics", "DELETE", 405), ("/api/state", "OPTIONS", 405),
      ("/login", "GET", 404), ("/login", "POST", 404), ("/nothing", "GET", 404), ("", "GET", 404),
      ("/metrics/", "GET", 404), ("/nothing", "POST", 404),
    ] as [(String, String, UInt32?)])
  func `paths and methods without a token`(path: String, method: String, expected: UInt32?) {
    let verdict = AccessRules(token: nil).verdict(on: request(path, method), now: Self.now)
    #expect(status(verdict) == expected)
  }

  @Test(
    arguments: [
      ("/", "GET", [:], 303), ("/metrics", "GET", [:], 401), ("/api/state", "GET", [:], 401),
      ("/metrics", "GET", [.authorization: "Bearer 0123456789abcdef"], nil),
      ("/metrics", "GET", [.authorization: "bearer 0123456789abcdef"], nil),
      ("/metrics", "GET", [.authorization: "Bearer 0123456789abcdeg"], 401),
      ("/metrics", "GET", [.authorization: "Bearer "], 401),
      ("/metrics", "GET", [.authorization: "Basic 0123456789abcdef"], 401),
      ("/metrics", "GET", [.cookie: "haul_session=0123456789abcdef"], 401),
      ("/login", "PUT", [:], 405), ("/healthz", "GET", [:], nil), ("/readyz", "GET", [:], nil),
      // Who knows the token may come by any name.
      ("/metrics", "GET", [.authorization: "Bearer 0123456789abcdef", .host: "example.org"], nil),
    ] as [(String, String, [HTTPRequest.Field: String], UInt32?)])
  func `what a token opens`(
    path: String, method: String, fields: [HTTPRequest.Field: String], expected: UInt32?
  ) throws {
    let rules = AccessRules(token: try ListenToken(Self.secret))
    #expect(status(rules.verdict(on: request(path, method, fields), now: Self.now)) == expected)
  }

  @Test func `whoever knows no token is told nothing of why`() throws {
    let rules = AccessRules(token: try ListenToken(Self.secret))
    #expect(
      rules.verdict(on: request("/readyz"), now: Self.now) == .serve(.readiness, isKnown: false))
    #expect(
      AccessRules(token: nil).verdict(on: request("/readyz"), now: Self.now)
        == .serve(.readiness, isKnown: true))
  }

  @Test func `a form with the token begins a session that ends`() throws {
    let token = try ListenToken(Self.secret)
    let rules = AccessRules(token: token)
    let form = [HTTPRequest.Field.contentType: "application/x-www-form-urlencoded"]
    let login = request("/login", "POST", form, body: "a=b&token=0123456789ab%63def")
    guard case .begin(let session) = rules.verdict(on: login, now: Self.now) else {
      Issue.record("the token was not taken")
      return
    }
    #expect(!session.contains(Self.secret))
    let look = request("/", "GET", [.cookie: "other=1; haul_session=\(session)"])
    #expect(rules.verdict(on: look, now: Self.now) == .serve(.page, isKnown: true))
    let end = Self.now + ListenToken.sessionSeconds
    #expect(rules.verdict(on: look, now: end - 1) == .serve(.page, isKnown: true))
    #expect(status(rules.verdict(on: look, now: end)) == 303)
    let other = AccessRules(token: try ListenToken(Self.secret + "x"))
    #expect(status(other.verdict(on: look, now: Self.now)) == 303)
  }

  @Test(arguments: [
    "token=wrong-wrong-wrong-wrong", "token=", "", "token", "nekot=0123456789abcdef",
  ])
  func `a wrong form asks again`(body: String) throws {
    let rules = AccessRules(token: try ListenToken(Self.secret))
    let form = [HTTPRequest.Field.contentType: "application/x-www-form-urlencoded; charset=utf-8"]
    let verdict = rules.verdict(on: request("/login", "POST", form, body: body), now: Self.now)
    #expect(verdict == .askToken(status: 403, "Wrong token."))
  }

  @Test func `a form of another kind or too long is refused`() throws {
    let rules = AccessRules(token: try ListenToken(Self.secret))
    var login = request(
      "/login", "POST", [.contentType: "text/plain"], body: "token=\(Self.secret)")
    #expect(status(rules.verdict(on: login, now: Self.now)) == 415)
    login.isTooLong = true
    #expect(status(rules.verdict(on: login, now: Self.now)) == 413)
  }

  @Test func `no session is valid but as it was made`() throws {
    let token = try ListenToken(Self.secret)
    let session = token.session(now: Self.now)
    #expect(token.isSession(session, now: Self.now))
    let parts = session.split(separator: ".").map(String.init)
    let last = parts[1].last == "0" ? "1" : "0"
    for forged in [
      "", ".", "\(parts[0]).", ".\(parts[1])", "\(parts[0])", "0\(session)", "+\(session)",
      session + "0",
      "\(parts[0]).\(parts[1].dropLast())\(last)", "\(Self.now + 1).\(parts[1])",
      "\(session).\(parts[1])", "\(parts[0]).\(parts[1].uppercased())x",
    ] {
      #expect(!token.isSession(forged, now: Self.now), "\(forged)")
    }
    // One that would be valid for longer than sessions are made.
    #expect(!token.isSession(token.session(now: Self.now + 60), now: Self.now))
  }

  @Test(arguments: [
    ("0123456789abcdef", true), ("0123456789abcde", false), ("", false),
    ("0123456789 abcdef", false), ("0123456789äbcdef", false),
  ])
  func `tokens`(text: String, isGood: Bool) {
    #expect(((try? ListenToken(text)) != nil) == isGood)
  }

  @Test func `what stands in a file around the token does not count`() throws {
    for content in ["0123456789abcdef", "0123456789abcdef\n", "  0123456789abcdef\r\nmore\n"] {
      let token = try ListenToken(firstLineOf: content, path: "token")
      #expect(token.matches(Self.secret), "\(content.debugDescription)")
    }
    for content in ["", "\n\n", "short\n", String(repeating: "a", count: 5000)] {
      let error = #expect(throws: ListenError.self) {
        try ListenToken(firstLineOf: content, path: "token")
      }
      #expect(error.map { !"\($0)".contains("aaaa") && !"\($0)".contains("short\n") } == true)
    }
  }

  @Test(
    arguments: [
      ("127.0.0.1:9464", "127.0.0.1:9464", true), ("localhost:0", "127.0.0.1:0", true),
      ("[::1]:80", "[::1]:80", true), ("0.0.0.0:9464", "0.0.0.0:9464", false),
      ("[::]:9464", "[::]:9464", false), ("127.3.2.1:65535", "127.3.2.1:65535", true),
      ("9464", nil, false), (":9464", nil, false), ("127.0.0.1", nil, false),
      ("127.0.0.1:65536", nil, false), ("127.0.0.1:+80", nil, false), ("::1:80", nil, false),
      ("example.org:80", nil, false), ("127.0.0.1:", nil, false), ("[127.0.0.1]:80", nil, false),
    ] as [(String, String?, Bool)])
  func `addresses`(text: String, description: String?, isLoopback: Bool) {
    let address = ListenAddress(text)
    #expect(address.map { "\($0)" } == description)
    #expect(address?.isLoopback ?? false == isLoopback)
  }

  @Test func `of wrong tokens the log has a line a minute, with their number`() {
    let (count, start) = (RefusalCount(), ContinuousClock.now)
    #expect(count.add(at: start) == 1)
    for second in 1...59 { #expect(count.add(at: start + .seconds(second)) == nil) }
    #expect(count.add(at: start + .seconds(60)) == 60)
    #expect(count.add(at: start + .seconds(61)) == nil)
  }
}
