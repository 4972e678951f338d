import TestSupport
import Testing

@testable import HaulTransfer

/// Servers that want a user and password by HTTP Digest (RFC 7616).
@Suite(.timeLimit(.minutes(5)))
struct DigestLoginTests {
  private static let content = Source(seed: 1, length: 200_000)

  private static func md5(_ text: String) throws -> String {
    let context = try DigestContext(.md5)
    unsafe Array(text.utf8).withUnsafeBytes { unsafe context.update($0) }
    return context.finish().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Whether the request's field answers the challenge for the user `a` with the password `b`, with a nonce of these.
  private static func isRight(
    _ request: OriginRequest, realm: String = "files", nonces: Set<String>? = nil
  ) throws -> Bool {
    guard let field = request[field: "Authorization"], field.hasPrefix("Digest ") else {
      return false
    }
    var values: [Substring: String] = [:]
    for pair in field.dropFirst("Digest ".count).split(separator: ",") {
      let sides = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
      values[sides[0]] = sides[1].filter { $0 != "\"" }
    }
    if let nonces, !nonces.contains(values["nonce"] ?? "") { return false }
    let (user, target) = (try md5("a:\(realm):b"), try md5("GET:\(request.target)"))
    let middle = ["nonce", "nc", "cnonce", "qop"].compactMap { values[$0] }.joined(separator: ":")
    return try values["response"] == md5("\(user):\(middle):\(target)")
  }

  /// Cuts the first file that it sends in the middle.
  private func origin() throws -> OriginServer {
    let sent = Watched(0)
    return try OriginServer { request, reply in
      guard try Self.isRight(request) else {
        try reply.head(
          """
          HTTP/1.1 401 Who
          WWW-Authenticate: Basic realm="files", Digest realm="files", nonce="\(request.number)", qop="auth"
          Content-Length: 3
          """)
        return try reply.body("who")
      }
      sent.update { $0 += 1 }
      try Self.content.answer(request, reply, cut: sent.value == 1 ? .close(after: 90_000) : nil)
    }
  }

  private func outcome(_ origin: OriginServer, password: String) async throws -> TransferOutcome {
    var configuration = Engine.Configuration.test
    configuration.netrc = try Netrc(
      "machine \(origin.host) login a password \(password)", name: "N")
    let bench = try PartTransferBench()
    return try await withEngine(configuration) { engine in
      try await bench.transfer(origin.url("/f?x=1"), engine: engine).run()
    }
  }

  @Test func `the challenge is answered, for ranges too`() async throws {
    let origin = try origin()
    #expect(try await outcome(origin, password: "b").holds(Self.content))
    let requests = origin.log.value.exchanges.map(\.request)
    // Basic is tried first, as most servers want it; where it is refused, no further request has it.
    #expect(requests[0][field: "Authorization"]?.hasPrefix("Basic ") == true)
    #expect(
      requests.dropFirst().allSatisfy {
        $0[field: "Authorization"]?.hasPrefix("Basic ") != true
      })
    #expect(requests.last?[field: "Range"] != nil)
  }

  @Test func `a wrong password is a 401 that is asked for once`() async throws {
    let origin = try origin()
    let error = try await outcome(origin, password: "c").error
    #expect(error?.errorClass == .http4xx && error?.status == 401)
    #expect(origin.log.value.exchanges.count <= 3)
  }

  private static func challenge(_ realm: String, _ nonce: String) -> String {
    "HTTP/1.1 401 Who\nWWW-Authenticate: Digest realm=\"\(realm)\", nonce=\"\(nonce)\", qop=\"auth\", stale=true\nContent-Length: 0"
  }

  /// Each nonce is good for one request.
  private func strict(_ realm: String) throws -> OriginServer {
    let open = Watched<Set<String>>([])
    return try OriginServer { request, reply in
      if try Self.isRight(request, realm: realm, nonces: open.value) {
        open.update { $0 = [] }
        return try Self.content.answer(request, reply)
      }
      let nonce = "\(realm)\(request.number)"
      open.update { $0 = [nonce] }
      try reply.head(Self.challenge(realm, nonce))
    }
  }

  /// What libcurl keeps of one login must not be said to another server, nor after its time.
  @Test func `hosts and nonces are told apart on the connections of one engine`() async throws {
    let (one, two) = (try strict("one"), try strict("two"))
    var configuration = Engine.Configuration.test
    configuration.netrc = try Netrc(
      "machine \(one.host) login a password b machine \(two.host) login a password b", name: "N")
    try await withEngine(configuration) { engine in
      for origin in [one, two, one, one, two, two] {
        let bench = try PartTransferBench()
        let outcome = try await bench.transfer(origin.url("/f"), engine: engine).run()
        #expect(try outcome.holds(Self.content))
      }
    }
    let fields = two.log.value.exchanges.compactMap { $0.request[field: "Authorization"] }
    #expect(!fields.contains { $0.contains("one") })
  }

  @Test func `a connection that breaks after the challenge is no 401`() async throws {
    let origin = try OriginServer { request, reply in
      guard request[field: "Authorization"]?.hasPrefix("Digest ") == true else {
        return try reply.head(Self.challenge("files", "1"))
      }
      try reply.reset()
    }
    let error = try await outcome(origin, password: "b").error
    #expect(error?.errorClass == .interrupted, "\(error?.message ?? "")")
  }
}
