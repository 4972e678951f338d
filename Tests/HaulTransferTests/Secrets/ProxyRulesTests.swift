import TestSupport
import Testing

@testable import HaulTransfer

/// The proxies that the environment names, as curl's manual page describes them.
@Suite struct ProxyRulesTests {
  private func proxy(_ environment: [String: String], _ url: String) throws -> String? {
    try ProxyRules(environment: environment)?.proxy(for: WebURL(url)).map {
      ($0.login.map { "\($0.user):\($0.password ?? "")@" } ?? "") + $0.url
    }
  }

  @Test(
    arguments: [
      ([:], "http://h/", nil), (["http_proxy": ""], "http://h/", nil),
      (["http_proxy": "http://p:3128"], "http://h/", "http://p:3128"),
      (["http_proxy": "http://p:3128/"], "http://h/", "http://p:3128"),
      (["http_proxy": "http://p:3128"], "https://h/", nil),
      (["HTTP_PROXY": "http://p:3128"], "http://h/", nil),
      (["HTTPS_PROXY": "p:8080"], "https://h/", "http://p:8080"),
      (["https_proxy": "p"], "https://h/", "http://p:1080"),
      (["https_proxy": "https://p"], "https://h/", "https://p:443"),
      (["ALL_PROXY": "socks5h://p"], "http://h/", "socks5h://p:1080"),
      (["all_proxy": "socks5://[::1]:9"], "https://h/", "socks5://[::1]:9"),
      (
        ["all_proxy": "socks5h://localhost/run/p.sock"], "http://h/",
        "socks5h://localhost/run/p.sock"
      ),
      (["all_proxy": "http://p:1", "http_proxy": ""], "http://h/", nil),
      (["all_proxy": "http://p:1", "http_proxy": "http://q:2"], "http://h/", "http://q:2"),
      (["http_proxy": "http://m%40e:a%3Ab@p:3128"], "http://h/", "m@e:a:b@http://p:3128"),
      (["http_proxy": "me@p:3128"], "http://h/", "me:@http://p:3128"),
    ] as [([String: String], String, String?)])
  func `a variable names a proxy by scheme`(
    environment: [String: String], url: String, expected: String?
  ) throws {
    #expect(try proxy(environment, url) == expected)
  }

  @Test(
    arguments: [
      ("*", "h.test", true), ("h.test", "h.test", true), ("h.test", "a.h.test", true),
      (".h.test", "h.test", true), (".h.test", "a.h.test", true), ("*.h.test", "a.h.test", true),
      ("h.test", "ah.test", false), ("H.Test.", "h.test", true), ("h.test", "h.test.", true),
      ("a, b h.test", "h.test", true), ("h.test:80", "h.test", true),
      ("h.test:81", "h.test", false),
      ("127.0.0.1", "127.0.0.1", true), ("127.0.0.0/8", "127.9.9.9", true),
      ("10.0.0.0/8", "127.0.0.1", false), ("::1", "[::1]", true), ("[::1]", "[::1]", true),
      ("fd00::/8", "[fd01::2]", true), ("1.2.3.4", "h.test", false), ("", "h.test", false),
      (".", "h.test", false),
    ])
  func `the hosts of no_proxy are asked directly`(list: String, host: String, isDirect: Bool) throws
  {
    for name in ["no_proxy", "NO_PROXY"] {
      let found = try proxy(["http_proxy": "http://p:3128", name: list], "http://\(host)/")
      #expect((found == nil) == isDirect)
    }
  }

  @Test(arguments: [
    "ftp://p:21", "http://", "socks4://p:1", "http://p:x", "socks5://host/run/p.sock",
  ])
  func `what names no proxy is told, and no password repeated`(text: String) {
    let error = #expect(throws: ProxyRules.Problem.self) {
      try ProxyRules(environment: ["https_proxy": text.replacing("://", with: "://me:hunter2@")])
    }
    #expect(error?.description.contains("https_proxy") == true)
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test(.timeLimit(.minutes(5)))
  func `each request takes its own way, with the password of the environment`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 5")
      try reply.body("12345")
    }
    let proxy = try ProxyServer(.http, password: "me:wo:rd")
    var configuration = Engine.Configuration()
    configuration.resolve = ["direct.test:\(origin.port):127.0.0.1"]
    configuration.proxyRules = try ProxyRules(environment: [
      "http_proxy": "http://me:wo%3Ard@127.0.0.1:\(proxy.port)", "no_proxy": "direct.test",
    ])
    configuration.addressPolicy = .unrestricted
    try await withEngine(configuration) { engine in
      for name in ["name.test", "direct.test", "other.test"] {
        let (result, log) = await engine.fetch("http://\(name):\(origin.port)/a")
        #expect(result.outcome == .complete && log.bytes == Array("12345".utf8))
      }
    }
    #expect(
      proxy.asked.value.map(\.target)
        == ["name", "other"].map { "GET http://\($0).test:\(origin.port)/a" })
    #expect(
      origin.log.value.exchanges.allSatisfy { $0.request[field: "Proxy-Authorization"] == nil })
  }
}
