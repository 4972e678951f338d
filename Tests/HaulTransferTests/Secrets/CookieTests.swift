import TestSupport
import Testing

@testable import HaulTransfer

/// Cookies that servers set on the way to a file.
@Suite(.timeLimit(.minutes(5)))
struct CookieTests {
  private static let file = Source(seed: 1, length: 20_000)

  @Test func `a server that sends its visitor round with a cookie gives the file`() async throws {
    let origin = try OriginServer { request, reply in
      guard request[field: "Cookie"] == "visited=yes" else {
        return try reply.head(
          "HTTP/1.1 302 Found\nLocation: /file\nSet-Cookie: visited=yes; Path=/\nContent-Length: 0")
      }
      try Self.file.whole(reply)
    }
    #expect(try await DownloadBench().download(origin.url("/file")) == Self.file.result)
    #expect(origin.asked.count == 2)
  }

  /// As NASA Earthdata does it: the data host sends to the login host, that one wants Basic, and sends back with a code, for
  /// which the data host sets a cookie. A cut then leads to a range that has the cookie already.
  @Test func `a login at another host leads back to the data`() async throws {
    let data = Watched("")
    let login = try OriginServer(address: "127.0.0.2") { request, reply in
      guard request[field: "Authorization"] == "Basic bWU6cHc=" else {
        return try reply.head(
          "HTTP/1.1 401 Who\nWWW-Authenticate: Basic realm=\"x\"\nContent-Length: 0")
      }
      try reply.redirect(to: "\(data.value)/back?code=1")
    }
    let origin = try OriginServer { request, reply in
      #expect(request[field: "Authorization"] == nil)
      if request.path.hasPrefix("/back") {
        return try reply.head(
          "HTTP/1.1 302 Found\nLocation: /file\nSet-Cookie: session=s; Path=/; HttpOnly\nContent-Length: 0"
        )
      }
      guard request[field: "Cookie"]?.contains("session=s") == true else {
        return try reply.redirect(to: login.url("/oauth"))
      }
      let isFirst = request[field: "Range"] == nil
      try Self.file.answer(request, reply, cut: isFirst ? .close(after: 9000) : nil)
    }
    data.update { $0 = "http://\(origin.host)" }
    var configuration = Engine.Configuration.test
    configuration.netrc = try Netrc("machine \(login.host) login me password pw", name: "N")
    configuration.cookies = CookieFile("127.0.0.1\tFALSE\t/\tFALSE\t0\town\t1")
    #expect(
      try await DownloadBench(configuration).download(origin.url("/file")) == Self.file.result)
    let cookies = origin.log.value.exchanges.compactMap { $0.request[field: "Cookie"] }
    #expect(cookies.last.map { Set($0.split(separator: "; ")) } == ["own=1", "session=s"])
    // The login host is asked once.
    #expect(login.log.value.exchanges.count == 1)
  }

  @Test func `a cookie goes where its host, path, scheme and time let it`() async throws {
    let origin = try OriginServer { request, reply in
      if request.path == "/a/file" { return try reply.answer("Content-Length: 5", "12345") }
      try reply.head(
        """
        HTTP/1.1 302 Found
        Location: /a/file
        Set-Cookie: here=1; Path=/a
        Set-Cookie: elsewhere=1; Path=/b
        Set-Cookie: safe=1; Path=/; Secure
        Set-Cookie: old=1; Path=/; Max-Age=0
        Set-Cookie: past=1; Path=/; Expires=Sun, 06 Nov 1994 08:49:37 GMT
        Set-Cookie: foreign=1; Path=/; Domain=other.test
        Content-Length: 0
        """)
    }
    var configuration = Engine.Configuration.test
    configuration.resolve = ["name.test:\(origin.port):127.0.0.1"]
    let bench = try DownloadBench(configuration)
    let url = "http://name.test:\(origin.port)/start"
    #expect(try await bench.download(url) == .text("12345"))
    #expect(origin.log.value.exchanges.last?.request[field: "Cookie"] == "here=1")
  }

  @Test func `no job has the cookies of another`() async throws {
    let origin = try OriginServer { request, reply in
      #expect(request[field: "Cookie"] == nil)
      try reply.answer("Set-Cookie: a=1; Path=/\nContent-Length: 5", "12345")
    }
    let bench = try DownloadBench()
    for name in ["a", "b", "c"] {
      _ = try await bench.downloader.download(
        origin.url("/\(name)"), to: bench.directory.path(name))
    }
    #expect(origin.log.value.exchanges.count == 3)
  }

  @Test func `a credential that is a cookie joins those of the file in one field`() async throws {
    let origin = try OriginServer { _, reply in try reply.answer("Content-Length: 5", "12345") }
    var configuration = Engine.Configuration.test
    configuration.cookies = CookieFile("127.0.0.1\tFALSE\t/\tFALSE\t0\town\t1")
    var options = DownloadOptions()
    options.credentials = [.init("Cookie", "key=x")]
    let bench = try DownloadBench(configuration)
    #expect(try await bench.download(origin.url("/"), options: options) == .text("12345"))
    let fields = origin.log.value.exchanges[0].request.fields.filter { $0.name == "Cookie" }
    #expect(fields.count == 1)
    #expect(Set(fields[0].value.split(separator: "; ")) == ["own=1", "key=x"])
  }
}
