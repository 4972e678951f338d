import Foundation
import TestSupport
import Testing

@testable import HaulTransfer

/// Files by SFTP, from OpenSSH.
@Suite(.timeLimit(.minutes(5)))
struct SFTPTests {
  private let bench: PartTransferBench
  /// More than the buffers on the way hold, and in a test that stops halfway more than its pace lets through meanwhile.
  private let source = Source(seed: 1, length: 64 << 20)

  init() throws { bench = try PartTransferBench() }

  private func content(_ source: Source) -> [UInt8] { source.pattern.bytes(in: 0..<source.length) }

  private func transfer(
    _ server: SFTPServer, _ name: String, _ engine: Engine,
    _ change: (inout TransferRequest) -> Void = { _ in }
  ) throws -> PartTransfer {
    try bench.transfer(server.url(name), engine: engine) { order in
      order.partName = "part of \(name.filter { $0 != "/" })"
      order.login = Login(user: server.user, keyPath: server.key)
      change(&order)
    }
  }

  @Test func `files come whole, an empty one too, and the connection is used again`() async throws {
    let server = try await SFTPServer()
    let small = Source(seed: 2, length: 300_000)
    try server.put("a", content(source))
    try server.put("b", content(small))
    try server.put("empty", [])
    try await withEngine(.files(knownHosts: server.knownHosts)) { engine in
      let all = [("a", source), ("b", small), ("empty", Source(seed: 3, length: 0))]
      for (name, source) in all {
        let outcome = try await transfer(server, name, engine).run()
        #expect(try outcome.holds(source), "\(name)")
      }
    }
  }

  @Test(arguments: [false, true])
  func `stopped, the rest is asked for, and all of it where the source has changed`(
    _ hasChanged: Bool
  ) async throws {
    let server = try await SFTPServer()
    try server.put("a", content(source))
    let new = Source(seed: 2, length: source.length)
    try await withEngine(.files(knownHosts: server.knownHosts)) { engine in
      let login = Login(user: server.user, keyPath: server.key)
      let first = try bench.transfer(server.url("a"), engine: engine) { order in
        order.login = login
        // sshd cannot be held halfway, and at full speed it may be done before anybody looks.
        order.rateLimit = RateLimit(bytesPerSecond: 4 << 20)
      }
      async let outcome = first.run()
      try await eventually("some of it received") { first.progress.bytes > 1 << 20 }
      first.stop()
      #expect(await outcome.isStopped)
      let left = try bench.leftBehind()
      let offset = left.checkpoint.durable.prefixEnd
      try #require(offset > 4096 && offset < source.length)
      if hasChanged { try server.put("a", content(new), age: .seconds(1800)) }
      let second = try bench.transfer(server.url("a"), engine: engine) { order in
        order.login = login
        order.resuming = left
        order.partName = left.checkpoint.part
      }
      #expect(try await second.run().holds(hasChanged ? new : source))
      #expect(second.report.fetched == source.length - (hasChanged ? 0 : offset - 4096))
      #expect(second.report.changes == (hasChanged ? 1 : 0))
    }
  }

  @Test func `a server whose key is not known, or another one, gets nothing`() async throws {
    let server = try await SFTPServer()
    try server.put("a", [7])
    let nobody = try TemporaryDirectory().path("none")
    for knownHosts in [try await server.forgedKnownHosts(), "/dev/null", nobody] {
      try await withEngine(.files(knownHosts: knownHosts)) { engine in
        let error = try await transfer(server, "a", engine).run().error
        #expect(error?.errorClass == .tls && error?.remedy == .knownHost, "\(knownHosts)")
      }
    }
    try await withEngine(.files()) { engine in
      let outcome = try await transfer(server, "a", engine).run()
      #expect(outcome.error?.errorClass == .tls)
    }
  }

  @Test func `what breaks off halfway is gone on with, and not taken for all of it`() async throws {
    let server = try await SFTPServer()
    try server.put("a", content(source))
    try await withEngine(.files(knownHosts: server.knownHosts)) { engine in
      let transfer = try transfer(server, "a", engine) { order in
        // So that it is not done before it can be broken off.
        order.rateLimit = RateLimit(bytesPerSecond: 8 << 20)
      }
      async let outcome = transfer.run()
      try await eventually("some of it received") { transfer.progress.bytes > 1 << 20 }
      server.breakOff()
      #expect(try await outcome.holds(source))
      #expect(bench.rulings.value == ["24 rest", "2 accept"])
    }
  }

  /// libssh2 then takes the end for a pause, or reads for ever, as it happens.
  @Test func `what only the file breaks off is gone on with, and holds up nobody`() async throws {
    let server = try await SFTPServer()
    try server.put("a", content(source))
    var configuration = Engine.Configuration.files(knownHosts: server.knownHosts)
    configuration.stallTime = .seconds(2)
    try await withEngine(configuration) { engine in
      let first = try transfer(server, "a", engine) { order in
        order.rateLimit = RateLimit(bytesPerSecond: 8 << 20)
      }
      async let outcome = first.run()
      try await eventually("some of it received") { first.progress.bytes > 1 << 20 }
      server.breakOffFiles()
      if case .complete = await outcome {
        #expect(try await outcome.holds(source))
        return
      }
      #expect(await outcome.error?.errorClass == .timeout)
      let left = try bench.leftBehind()
      let second = try transfer(server, "a", engine) { order in
        order.resuming = left
        order.partName = left.checkpoint.part
      }
      #expect(try await second.run().holds(source))
      #expect(second.report.fetched < source.length)
    }
  }

  @Test func `a password goes to a server whose key is known, and to no other`() async throws {
    let server = try await PasswordSFTPServer()
    let small = Source(seed: 2, length: 300_000)
    try server.put("a", content(small))
    func fetch(_ password: String, knownHosts: String) async throws -> TransferOutcome {
      try await withEngine(.files(knownHosts: knownHosts)) { engine in
        try await bench.transfer(server.url("a"), engine: engine) { order in
          order.login = Login(user: "user", password: password)
        }.run()
      }
    }
    #expect(try await fetch("hunter2", knownHosts: "/dev/null").error?.errorClass == .tls)
    #expect(try server.passwords() == [])
    #expect(try await fetch("hunter2", knownHosts: server.knownHosts).holds(small))
    let error = try await fetch("hunter3", knownHosts: server.knownHosts).error
    #expect(error?.errorClass == .credential)
    #expect(error?.message == "the server refused the login")
    #expect(try server.passwords() == ["user hunter2", "user hunter3"])
  }

  @Test func `a directory sends nothing, and the error says what that may mean`() async throws {
    let server = try await SFTPServer()
    try FileManager.default.createDirectory(
      atPath: "\(server.root)/a", withIntermediateDirectories: false)
    try await withEngine(.files(knownHosts: server.knownHosts)) { engine in
      let error = try await transfer(server, "a", engine).run().error
      #expect(error?.errorClass == .interrupted)
      #expect(error?.message == "the connection broke, or the URL names a directory")
    }
  }

  @Test func `another key, no credential, no file`() async throws {
    let (server, other) = (try await SFTPServer(), try await SFTPServer())
    try server.put("a", [7])
    try await withEngine(.files(knownHosts: server.knownHosts)) { engine in
      func failure(_ name: String, _ change: (inout TransferRequest) -> Void = { _ in })
        async throws
        -> TransferError.Class?
      {
        try await transfer(server, name, engine, change).run().error?.errorClass
      }
      let found = [
        try await failure("a") { $0.login?.keyPath = other.key },
        try await failure("a") { $0.login = Login(user: server.user, password: "x") },
        try await failure("a") { $0.login = nil },
        try await failure("missing"), try await failure("a/"),
        try await failure("a") { $0.addressPolicy = .publicOnly },
      ]
      #expect(
        found == [.credential, .credential, .noCredential, .noFile, .blockedURL, .blockedAddress])
    }
  }
}
