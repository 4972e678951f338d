import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Users, passwords, cookies and proxies of a program.
@Suite(.timeLimit(.minutes(5)))
struct LoginTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// Wants the user `me` with the password `word`.
  private static func isRight(_ request: OriginRequest) -> Bool {
    request[field: "Authorization"] == "Basic \(Data("me:word".utf8).base64EncodedString())"
  }

  private func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      guard Self.isRight(request) else {
        return try reply.head(
          "HTTP/1.1 401 Who\nWWW-Authenticate: Basic realm=\"files\"\nContent-Length: 0")
      }
      try reply.text("hello")
    }
  }

  @Test func `a login is sent at once, to its origin alone`() async throws {
    let origin = try origin()
    let first = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 302 Go\nLocation: \(origin.url("/"))\nContent-Length: 0")
    }
    let downloader = try Downloader(.test)
    var options = DownloadOptions()
    options.login = Login(user: "me", password: "word")
    _ = try await downloader.download(origin.url("/"), to: directory.path("a"), options: options)
    #expect(origin.log.value.exchanges.count == 1)
    await #expect(throws: TransferError.self) {
      try await downloader.download(first.url("/"), to: directory.path("b"), options: options)
    }
    #expect(origin.log.value.exchanges[1].request[field: "Authorization"] == nil)
  }

  @Test func `a challenge is answered, on whichever host it comes`() async throws {
    let origin = try origin()
    let first = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 302 Go\nLocation: \(origin.url("/"))\nContent-Length: 0")
    }
    let challenges = Watched<[AuthenticationChallenge]>([])
    var options = DownloadOptions()
    options.authenticate = { challenge in
      challenges.update { $0.append(challenge) }
      return Login(user: "me", password: challenge.failures == 0 ? "wrong" : "word")
    }
    let file = try await Downloader(.test)
      .download(first.url("/"), to: directory.path("a"), options: options)
    #expect(file.bytes == 5)
    #expect(challenges.value.map(\.failures) == [0, 1])
    #expect(challenges.value.allSatisfy { $0.host == origin.host && $0.url == origin.url("/") })
    #expect(challenges.value[0].schemes == ["Basic realm=\"files\""])
  }

  @Test(arguments: [nil, Login(user: "me", password: "wrong")])
  func `no login, or none that is right, ends it`(_ login: Login?) async throws {
    let origin = try origin()
    var options = DownloadOptions()
    options.authenticate = { _ in login }
    let error = await #expect(throws: TransferError.self) {
      try await Downloader(.test)
        .download(origin.url("/"), to: directory.path("a"), options: options)
    }
    #expect(error?.errorClass == .http4xx && error?.status == 401)
    #expect(origin.log.value.exchanges.count == (login == nil ? 1 : 4))
  }

  @Test func `a jar keeps cookies for later downloads and other downloaders`() async throws {
    let origin = try OriginServer { request, reply in
      switch request.path {
      case "/in": try reply.text(fields: "Set-Cookie: id=7; Path=/", "in")
      case "/out":
        try reply.text(
          fields: "Set-Cookie: id=7; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "out")
      default: try reply.text(request[field: "Cookie"] ?? "none")
      }
    }
    var configuration = Downloader.Configuration.test
    let jar = CookieJar()
    configuration.cookieJar = jar
    let (one, two) = (try Downloader(configuration), try Downloader(configuration))
    let other = try Downloader(.test)
    func text(_ path: String, _ downloader: Downloader) async throws -> String {
      var options = DownloadOptions()
      options.ifExists = .replace
      let file = try await downloader.download(
        origin.url(path), to: directory.path("a"), options: options)
      return try String(contentsOfFile: file.path, encoding: .utf8)
    }
    #expect(try await text("/who", one) == "none")
    _ = try await text("/in", one)
    #expect(jar.count == 1)
    #expect(try await text("/who", two) == "id=7")
    #expect(try await text("/who", other) == "none")
    _ = try await text("/out", two)
    #expect(jar.count == 0)
    #expect(try await text("/who", one) == "none")
    _ = try await text("/in", two)
    jar.removeAll()
    #expect(try await text("/who", two) == "none")
  }

  @Test func `a proxy of one download, or of all`() async throws {
    let origin = try OriginServer { _, reply in try reply.text("hello") }
    let proxy = try ProxyServer(.http, password: "me:word")
    var address = try ProxyAddress("http://127.0.0.1:\(proxy.port)")
    address.login = Login(user: "me", password: "word")
    var options = DownloadOptions()
    options.proxy = address
    options.ifExists = .replace
    let url = "http://name.test:\(origin.port)/a"
    let path = directory.path("a")
    _ = try await Downloader().download(url, to: path, options: options)
    var configuration = Downloader.Configuration()
    configuration.proxy = address
    options.proxy = nil
    _ = try await Downloader(configuration).download(url, to: path, options: options)
    #expect(proxy.asked.value.map(\.target) == ["GET \(url)", "GET \(url)"])
  }

  @Test func `who is asked for a login and does not answer holds up no end`() async throws {
    let (origin, directory) = (try origin(), directory)
    let (asked, answer) = (Gate("the question"), Gate("the answer"))
    let wasCancelled = Watched(false)
    var options = DownloadOptions()
    options.authenticate = { _ in
      asked.open()
      await withTaskCancellationHandler {
        await Task.detached { try? await answer.wait(within: .seconds(60)) }.value
      } onCancel: {
        wasCancelled.update { $0 = true }
      }
      return Login(user: "me", password: "word")
    }
    let downloader = try Downloader(.test)
    let download = downloader.start(origin.url("/"), to: directory.path("a"), options: options)
    try await asked.wait()
    download.cancel()
    try await eventually("the end", within: .seconds(10)) { download.state == .finished }
    #expect(wasCancelled.value)
    await downloader.shutdown()
    answer.open()
    #expect(origin.log.value.exchanges.count == 1)
  }

  /// However the hook takes the cancellation of its task: with an answer, a right one or none, at once or late.
  @Test(arguments: ["suspend", "pause", "cancel", "time out"], [true, false])
  func `a stop while a login is asked for ends as any stop does`(
    _ stop: String, _ isRight: Bool
  ) async throws {
    let origin = try origin()
    let isAsked = Gate("the question")
    let answer = Gate("the answer")
    let downloader = try Downloader(.test)
    var request = DownloadRequest(origin.url("/"), to: directory.path("a"))
    request.options.timeout = stop == "time out" ? .seconds(2) : nil
    request.options.authenticate = { _ in
      isAsked.open()
      try? await answer.wait()
      return isRight ? Login(user: "me", password: "word") : nil
    }
    let download = downloader.start(request)
    try await isAsked.wait()
    switch stop {
    case "suspend": download.suspend()
    case "pause": _ = await download.pause()
    case "cancel": download.cancel()
    default: break
    }
    if stop == "suspend" {
      try await eventually("the suspension") { download.state == .paused }
      download.cancel()
    }
    if stop == "time out" {
      try await eventually("the time-out") { download.state == .finished }
    }
    answer.open()
    guard case .failure(let error) = await download.result else {
      Issue.record("it has ended with a file")
      return
    }
    #expect(error.errorClass == (stop == "time out" ? .timeout : .cancelled), "\(error)")
    await downloader.shutdown()
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }

  @Test(arguments: [402, 407, 408, 201, 204])
  func `a status is told as it is`(_ status: Int) async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 \(status) Odd" + (status == 204 ? "" : "\nContent-Length: 0"))
    }
    let downloader = try Downloader(.test)
    let error = await #expect(throws: TransferError.self) {
      try await downloader.download(origin.url("/"), to: directory.path("a"))
    }
    let classes: [Int: TransferError.Class] = [
      402: .http4xx, 407: .http4xx, 408: .http5xx, 201: .protocol, 204: .protocol,
    ]
    #expect(error?.errorClass == classes[status])
    #expect(
      error?.message.hasPrefix("the server answered \(status)") == true
        && error?.message.contains("later") == false, "\(error?.message ?? "")")
  }

  /// It is given no cookies back, and takes none away.
  @Test func `a request that never began leaves the jar alone`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.text(fields: "Set-Cookie: id=7; Path=/", "in")
    }
    var configuration = Downloader.Configuration.test
    let jar = CookieJar()
    configuration.cookieJar = jar
    _ = try await Downloader(configuration).download(origin.url("/"), to: directory.path("a"))
    #expect(jar.count == 1)
    // What a proxy would reach is refused before the request.
    configuration.addressPolicy = Downloader.Configuration().addressPolicy
    configuration.proxy = try ProxyAddress("http://127.0.0.1:1")
    let error = await #expect(throws: TransferError.self) {
      try await Downloader(configuration).download(origin.url("/"), to: directory.path("b"))
    }
    #expect(error?.errorClass == .blockedAddress)
    #expect(jar.count == 1)
  }
}
