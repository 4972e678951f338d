import Glibc
import TestSupport
import Testing

@testable import HaulTransfer

/// Files that say who asks: read by their owner alone, and matched by where a request goes.
struct SecretFileTests {
  private func url(_ text: String) throws -> WebURL { try WebURL(text) }

  @Test(arguments: [0o600, 0o400] as [mode_t], [0o644, 0o604, 0o620] as [mode_t])
  func `a file that others may read is not read`(good: mode_t, bad: mode_t) throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("machine h login u password hunter2", to: "netrc")
    chmod(path, good)
    #expect(try Netrc(path: path).entries.count == 1)
    chmod(path, bad)
    let error = #expect(throws: SecretFile.Problem.self) { try Netrc(path: path) }
    #expect(error?.description.hasSuffix("run 'chmod 600 \(path)'") == true)
    #expect(throws: SecretFile.Problem.self) { try SecretFile.read(directory.path) }
    #expect(throws: SecretFile.Problem.self) { try SecretFile.read(directory.path("none")) }
  }

  @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
  func `root's group may read`() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("secret", to: "token")
    chmod(path, 0o440)
    #expect(try SecretFile.read(path) == "secret")
    chown(path, 65534, 0)
    #expect(throws: SecretFile.Problem.self) { try SecretFile.read(path) }
  }

  @Test func `a name with a blank is one word of the advice`() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("secret", to: "my token")
    chmod(path, 0o644)
    let error = #expect(throws: SecretFile.Problem.self) { try SecretFile.read(path) }
    #expect(
      error?.description.hasSuffix("run 'chmod 600 '\(path)''") == true,
      "\(error?.description ?? "")")
  }

  // MARK: - netrc

  @Test func `netrc has machines, macros and comments`() throws {
    let text = """
      # mine
      machine Example.org login me password "a \\"b"
      macdef init
      machine no.example.org login x password y

      machine example.org:8443
        login you
        account none
        password p#w
      default login anonymous password me@
      machine last.example.org password only
      """
    let netrc = try Netrc(text, name: "netrc")
    #expect(netrc.fallback == .init(machine: "", login: "anonymous", password: "me@"))
    #expect(
      netrc.entries == [
        .init(machine: "example.org", login: "me", password: "a \"b"),
        .init(machine: "example.org:8443", login: "you", password: "p#w"),
        .init(machine: "last.example.org", login: "", password: "only"),
      ])
  }

  @Test(arguments: ["machine", "machine h login", "mashine h", "machine h password \"x"])
  func `what is no netrc file is refused without a word of it`(text: String) {
    let error = #expect(throws: SecretFile.Problem.self) { try Netrc(text + " ", name: "N") }
    #expect(error?.description.hasPrefix("N is not a netrc file: ") == true)
  }

  @Test(
    arguments: [
      ("http://h/", true, nil), ("https://h/", true, "h"), ("https://h:443/a", true, "h"),
      ("http://h:81/", true, nil), ("https://h:80/", true, nil), ("https://h:8443/", true, "h2"),
      ("http://h/", false, nil), ("https://h/", false, "h"), ("https://other/", true, nil),
      ("https://sub.h/", true, nil), ("http://h:8443/", true, "h2"),
      ("http://h:8443/", false, "h2"),
    ] as [(String, Bool, String?)])
  func `a password goes to its host and port, over http only to a port that is named`(
    url: String, isHome: Bool, user: String?
  ) throws {
    let netrc = try Netrc(
      "machine h login h password p machine h:8443 login h2 password p default login d password p",
      name: "N")
    let expected = user.map { ResponseHead.Field.basic(user: $0, password: "p") }
    #expect(netrc.login(for: try self.url(url), isHome: isHome).map { .basic($0) } == expected)
  }

  /// A user who types a URL means the origin that it names, and no other.
  @Test(
    arguments: [
      ("http://h/", true, "h"), ("http://h/", false, nil), ("https://h/", false, "h"),
      ("http://h:8443/", true, "h2"), ("http://other/", true, "d"), ("http://other/", false, nil),
      ("https://other/", false, nil), ("http://p/", true, "p"), ("http://p/", false, "p"),
    ] as [(String, Bool, String?)])
  func `for a typed URL the host's entry counts over http, and the default`(
    url: String, isHome: Bool, user: String?
  ) throws {
    var netrc = try Netrc(
      """
      machine h login h password p machine h:8443 login h2 password p default login d password p
      machine p:80 login p password p
      """, name: "N")
    netrc.isForTypedURLs = true
    let expected = user.map { ResponseHead.Field.basic(user: $0, password: "p") }
    #expect(netrc.login(for: try self.url(url), isHome: isHome).map { .basic($0) } == expected)
  }

  // MARK: - Cookies

  @Test func `cookies are read as browsers write them`() {
    let text = """
      \u{FEFF}# Netscape HTTP Cookie File

      h\tFALSE\t/\tFALSE\t0\ta\t1
      .example.org\tTRUE\t/\tTRUE\t2000.75\tb\t2;x y
      #HttpOnly_example.org\tTRUE\t/deep\tFALSE\t0\tc
      """
    let file = CookieFile(text)
    #expect(
      file.lines == [
        "h\tFALSE\t/\tFALSE\t0\ta\t1", ".example.org\tTRUE\t/\tTRUE\t2000\tb\t2;x y",
        ".example.org\tTRUE\t/deep\tFALSE\t0\tc\t",
      ])
    #expect(file.badLines == [])
  }

  @Test(arguments: ["h FALSE / FALSE 0 a 1", "h\tFALSE\t/", "h\tFALSE\tx\tFALSE\t0\ta\tb"])
  func `a line that is no cookie is left out, and told by its number alone`(line: String) {
    let file = CookieFile("h\tFALSE\t/\tFALSE\t0\ta\t1\n\(line)\n")
    #expect(file.badLines == [2] && file.lines.count == 1)
  }

  // MARK: - Proxies and origins

  @Test(
    arguments: [
      ("http://proxy.example.org:3128", "http://proxy.example.org:3128"),
      ("HTTPS://Proxy:443/", "https://proxy:443"),
      ("socks5h://127.0.0.1:1080", "socks5h://127.0.0.1:1080"),
      ("socks5://[::1]:1080", "socks5://[::1]:1080"), ("http://proxy:80", "http://proxy:80"),
      ("http://proxy", nil), ("proxy:3128", nil), ("ftp://proxy:21", nil), ("http://p:1/x", nil),
      ("http://p:1/?x", nil), ("http://p:", nil), ("http://[::1]", nil), ("", nil),
    ] as [(String, String?)])
  func `a proxy is a scheme, a host and a port`(text: String, url: String?) {
    #expect((try? ProxyAddress(text))?.url == url)
  }

  @Test func `a proxy's password is refused and not repeated`() {
    let error = #expect(throws: ProxyAddress.Problem.self) {
      try ProxyAddress("http://me:hunter2@proxy:3128")
    }
    #expect(error?.description.contains("netrc") == true)
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test(
    arguments: [
      ("https://example.org", "https://example.org/a?b", true),
      ("https://example.org", "https://EXAMPLE.org:443/", true),
      ("https://example.org", "http://example.org/", false),
      ("https://example.org", "https://example.org:8443/", false),
      ("https://example.org", "https://www.example.org/", false),
      ("https://*.example.org:8443", "https://a.b.example.org:8443/", true),
      ("https://*.example.org", "https://example.org/", false),
      ("https://*.example.org", "https://badexample.org/", false),
    ])
  func `an origin holds its own URLs`(pattern: String, url: String, holds: Bool) throws {
    #expect(try #require(OriginPattern(pattern)).contains(try self.url(url)) == holds)
  }

  @Test(arguments: [
    "example.org", "https://example.org/a", "https://u@h", "*", "https://*", "https://a.*.org",
    "gopher://h",
  ])
  func `what is no origin is refused`(text: String) { #expect(OriginPattern(text) == nil) }
}
