import Foundation
import TestSupport
import Testing

@testable import HaulTransfer

/// Files by FTP, from pyftpdlib.
@Suite(.timeLimit(.minutes(5)))
struct FTPTests {
  private let bench: PartTransferBench
  private let source = Source(seed: 1, length: 300_000)
  private var content: [UInt8] { source.pattern.bytes(in: 0..<source.length) }

  init() throws { bench = try PartTransferBench() }

  /// Held where half of the file has come.
  private func heldServer() async throws -> FTPServer {
    var habits = FTPServer.Habits()
    habits.holdsAt = 150_000
    return try await FTPServer(habits)
  }

  /// What is left of a transfer that is stopped halfway.
  private func stopped(_ url: String, _ engine: Engine) async throws -> (
    checkpoint: Checkpoint, part: PartFile
  ) {
    let transfer = try bench.transfer(url, engine: engine)
    async let outcome = transfer.run()
    try await eventually("half of it received") { transfer.progress.bytes >= 150_000 }
    transfer.stop()
    #expect(await outcome.isStopped)
    return try bench.leftBehind()
  }

  private func goOn(
    _ url: String, _ engine: Engine, _ left: (checkpoint: Checkpoint, part: PartFile)
  ) throws -> PartTransfer {
    try bench.transfer(url, engine: engine) { order in
      order.resuming = left
      order.partName = left.checkpoint.part
    }
  }

  @Test func `a file comes whole, with its time, and the connection is used again`() async throws {
    let server = try await FTPServer()
    try server.put("a", content)
    try server.put("b", [7])
    try await withEngine(.files()) { engine in
      let transfer = try bench.transfer(server.url("/a"), engine: engine) {
        $0.takesRemoteTime = true
      }
      #expect(try await transfer.run().holds(source))
      func time(_ path: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.modificationDate] as? Date).map { Int($0.timeIntervalSince1970) }
      }
      let (there, here) = (
        try time("\(server.root)/a"), try time("\(bench.scratch.path)/parts/part")
      )
      #expect(there == here)
      let (result, log) = await engine.fetch(server.url("/b"))
      #expect(result.outcome == .complete && log.bytes == [7])
    }
    #expect(try server.commands(["USER", "RETR"]) == ["USER anonymous", "RETR a", "RETR b"])
  }

  @Test func `an empty file, and files whose size or time nobody tells`() async throws {
    for without in [[], ["SIZE"], ["MDTM"], ["SIZE", "MDTM"]] {
      var habits = FTPServer.Habits()
      habits.without = without
      let server = try await FTPServer(habits)
      try server.put("empty", [])
      try server.put("a", content)
      try await withEngine(.files()) { engine in
        for (name, source) in [("/a", source), ("/empty", Source(seed: 1, length: 0))] {
          let bench = try PartTransferBench()
          let outcome = try await bench.transfer(server.url(name), engine: engine).run()
          #expect(try outcome.holds(source), "\(name) without \(without)")
        }
      }
    }
  }

  @Test func `stopped, only the rest is asked for`() async throws {
    let server = try await heldServer()
    try server.put("a", content)
    try await withEngine(.files()) { engine in
      let left = try await stopped(server.url("/a"), engine)
      try server.release()
      let offset = left.checkpoint.durable.prefixEnd
      let transfer = try goOn(server.url("/a"), engine, left)
      #expect(try await transfer.run().holds(source))
      #expect(transfer.report.fetched == 300_000 - offset + 4096)
      #expect(
        try server.commands() == [
          "PASS ftp@example.com", "RETR a", "PASS ftp@example.com", "REST \(offset - 4096)",
          "RETR a",
        ])
    }
  }

  @Test(arguments: ["length", "time", "shorter than what is there", "as long as what is there"])
  func `a source that has changed meanwhile is fetched anew`(_ change: String) async throws {
    let server = try await heldServer()
    try server.put("a", content)
    try await withEngine(.files()) { engine in
      let left = try await stopped(server.url("/a"), engine)
      let length: Int64 =
        switch change {
        case "length": 300_001
        case "time": 300_000
        case "shorter than what is there": 100
        default: left.checkpoint.durable.prefixEnd - 4096
        }
      let new = Source(seed: 2, length: length)
      let age: Duration = change == "time" ? .seconds(1800) : .seconds(3600)
      try server.put("a", new.pattern.bytes(in: 0..<length), age: age)
      try server.release()
      let transfer = try goOn(server.url("/a"), engine, left)
      #expect(try await transfer.run().holds(new))
      #expect(transfer.report.changes == 1)
    }
  }

  @Test func `a server that begins in the middle of no file is asked for all of it`() async throws {
    var habits = FTPServer.Habits()
    habits.without = ["REST"]
    habits.holdsAt = 150_000
    let server = try await FTPServer(habits)
    try server.put("a", content)
    try await withEngine(.files()) { engine in
      let left = try await stopped(server.url("/a"), engine)
      try server.release()
      let transfer = try goOn(server.url("/a"), engine, left)
      #expect(try await transfer.run().holds(source))
      #expect(transfer.report.isRangeUnsafe)
    }
  }

  /// An HTTP proxy would fetch the file by itself, and check nothing.
  @Test(arguments: [true, false])
  func `no proxy serves it, be it the engine's or the request's`(isEngines: Bool) async throws {
    let proxy = try ProxyAddress("http://127.0.0.1:1")
    var configuration = Engine.Configuration.files()
    configuration.proxy = isEngines ? proxy : nil
    try await withEngine(configuration) { engine in
      let transfer = try bench.transfer("ftp://127.0.0.1:1/a", engine: engine) {
        $0.proxy = isEngines ? nil : proxy
      }
      let error = await transfer.run().error
      #expect(error?.errorClass == .proxy)
      #expect(error?.message == "ftp downloads cannot use a proxy")
    }
  }

  @Test func `what the last minute changed is not gone on with`() async throws {
    let server = try await heldServer()
    try server.put("a", content, age: .zero)
    try await withEngine(.files()) { engine in
      let transfer = try bench.transfer(server.url("/a"), engine: engine)
      async let outcome = transfer.run()
      try await eventually("half of it received") { transfer.progress.bytes >= 150_000 }
      transfer.stop()
      #expect(await outcome.isStopped)
      #expect(bench.saved.value.isEmpty)
      try server.release()
    }
  }

  @Test func `a file that is still the same is not brought again`() async throws {
    let server = try await FTPServer()
    try server.put("a", content)
    try await withEngine(.files()) { engine in
      let first = try bench.transfer(server.url("/a"), engine: engine)
      #expect(try await first.run().holds(source))
      let again = try bench.transfer(server.url("/a"), engine: engine) {
        $0.partName = "again"
        $0.present = first.report.source
      }
      guard case .unchanged = await again.run() else { Issue.record("it was fetched"); return }
      let new = Source(seed: 2, length: 300_000)
      try server.put("a", new.pattern.bytes(in: 0..<300_000), age: .seconds(1800))
      let changed = try bench.transfer(server.url("/a"), engine: engine) {
        $0.partName = "changed"
        $0.present = first.report.source
      }
      #expect(try await changed.run().holds(new))
    }
  }

  @Test(
    arguments: [
      ("/missing", .noFile), ("/none/a", .noFile), ("/dir", .noFile), ("/dir/", .blockedURL),
      ("/dir%2F", .blockedURL), ("/", .blockedURL), ("/a;type=a", .blockedURL),
      ("/a?b", .blockedURL),
      ("/a%0D%0ADELE%20a", .blockedURL),
    ] as [(String, TransferError.Class)])
  func `what is no file fails, and no directory is listed`(
    _ path: String, _ errorClass: TransferError.Class
  ) async throws {
    let server = try await FTPServer()
    try FileManager.default.createDirectory(
      atPath: "\(server.root)/dir", withIntermediateDirectories: true)
    try server.put("a", content)
    try await withEngine(.files()) { engine in
      let outcome = try await bench.transfer(server.url(path), engine: engine).run()
      #expect(outcome.error?.errorClass == errorClass, "\(outcome)")
      #expect(try server.commands(["LIST", "NLST", "MLSD", "DELE"]) == [])
    }
  }

  @Test func `a scheme that is not allowed is not spoken`() async throws {
    let server = try await FTPServer()
    try await withEngine { engine in
      let error = try await bench.transfer(server.url("/a"), engine: engine).run().error
      #expect(error?.errorClass == .blockedURL && error?.remedy == .allowScheme("ftp"))
    }
    #expect(try server.commands(["USER"]) == [])
  }

  @Test func `no redirect leads to FTP`() async throws {
    let server = try await FTPServer()
    try server.put("a", content)
    let origin = try OriginServer { _, reply in try reply.redirect(to: server.url("/a")) }
    try await withEngine(.files()) { engine in
      let error = try await bench.transfer(origin.url("/"), engine: engine).run().error
      #expect(error?.errorClass == .blockedURL, "\(String(describing: error))")
    }
    #expect(try server.commands(["USER"]) == [])
  }

  @Test func `a private address is refused, and a data connection leads to no other`() async throws
  {
    var habits = FTPServer.Habits()
    habits.claimsAddress = "10.1.2.3"
    habits.without = ["EPSV"]
    let server = try await FTPServer(habits)
    try server.put("a", content)
    try await withEngine(.files()) { engine in
      #expect(try await bench.transfer(server.url("/a"), engine: engine).run().holds(source))
      #expect(try server.commands(["PASV"]).count == 1)
      let refused = try PartTransferBench().transfer(server.url("/a"), engine: engine) {
        $0.addressPolicy = .publicOnly
      }
      #expect(await refused.run().error?.errorClass == .blockedAddress)
    }
  }

  @Test func `a busy server is a host's trouble, and a login refused one of the credential`()
    async throws
  {
    var habits = FTPServer.Habits()
    habits.isBusy = true
    let busy = try await FTPServer(habits)
    try await withEngine(.files()) { engine in
      let error = try await bench.transfer(busy.url("/a"), engine: engine).run().error
      #expect(error?.errorClass == .rateLimited, "\(String(describing: error))")
    }
  }

  @Test func `a password goes over TLS alone`() async throws {
    let plain = try await FTPServer()
    try plain.put("a", content)
    let certificates = try TemporaryDirectory()
    try await makeCertificate(in: certificates)
    var habits = FTPServer.Habits()
    habits.certificates = certificates.path
    let server = try await FTPServer(habits)
    var configuration = Engine.Configuration.files()
    configuration.caFile = certificates.path("cert.pem")
    configuration.resolve = ["tls.test:\(server.port):127.0.0.1"]
    try await withEngine(configuration) { engine in
      func fetch(_ url: String, _ password: String) async throws -> TransferOutcome {
        try await PartTransferBench().transfer(url, engine: engine) {
          $0.login = Login(user: "user", password: password)
        }.run()
      }
      #expect(try await fetch(plain.url("/a"), "hunter2").error?.errorClass == .tls)
      #expect(try plain.commands(["USER", "PASS"]) == [])
      let url = "ftp://tls.test:\(server.port)/no/a"
      // No such directory: pyftpdlib breaks off data connections over TLS, those of curl(1) too, and here it is the
      // login that counts.
      let right = try await fetch(url, "hunter2").error
      #expect(right?.errorClass == .noFile, "\(String(describing: right))")
      let wrong = try await fetch(url, "hunter3").error
      #expect(wrong?.errorClass == .credential)
      #expect(wrong?.message.contains("hunter") == false)
      // Nobody vouches for that name.
      #expect(try await fetch(server.url("/a"), "hunter2").error?.errorClass == .tls)
    }
    #expect(try server.commands(["PASS", "PROT"]) == ["PASS hunter2", "PROT P", "PASS hunter3"])
  }

  @Test(arguments: ["ftp", "ftps"])
  func `a file comes over TLS where the certificate is right`(_ scheme: String) async throws {
    let certificates = try TemporaryDirectory()
    try await makeCertificate(in: certificates)
    let server = try await TLSFTPServer(
      certificates: certificates.path, isImplicit: scheme == "ftps")
    try server.put("a", content)
    func fetch(from host: String, trusting caFile: String?) async throws -> TransferOutcome {
      let bench = try PartTransferBench()
      var configuration = Engine.Configuration.files()
      configuration.caFile = caFile
      configuration.resolve = ["tls.test:\(server.port):127.0.0.1"]
      return try await withEngine(configuration) { engine in
        let url = "\(scheme)://\(host):\(server.port)/a"
        return try await bench.transfer(url, engine: engine) { order in
          // Without a password nobody asks an `ftp` server for TLS.
          if scheme == "ftp" { order.login = Login(user: "anonymous", password: "x") }
        }.run()
      }
    }
    let trusted = certificates.path("cert.pem")
    #expect(try await fetch(from: "tls.test", trusting: trusted).holds(source))
    for (host, caFile) in [("tls.test", nil), ("127.0.0.1", trusted)] {
      let error = try await fetch(from: host, trusting: caFile).error
      #expect(error?.errorClass == .tls, "\(host): \(String(describing: error))")
      #expect(error?.message.contains("certificate") == true, "\(String(describing: error))")
    }
  }
}

extension Engine.Configuration {
  /// FTP and SFTP are allowed.
  static func files(knownHosts: String? = nil) -> Self {
    var configuration = test
    configuration.allowedSchemes.formUnion(["ftp", "ftps", "sftp"])
    configuration.knownHosts = knownHosts
    return configuration
  }
}
