import Foundation
import Glibc
import TestSupport
import Testing

@testable import StatusPage

/// Slow and many connections to the page: none keeps others out, and none stays for ever.
struct OpenConnectionsTests {
  private static let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

  private func withServer(
    _ limits: OpenConnections.Limits, _ body: (UInt16) async throws -> Void
  ) async throws {
    let socket = try ListenSocket(try #require(ListenAddress("127.0.0.1:0")))
    let server = try HTTPServer(socket, limits: limits) { _ in .sentence(200, "alive") }
    try await body(socket.address.port)
    await server.stop()
  }

  @Test func `a request that comes a byte at a time is ended, however often bytes come`()
    async throws
  {
    var limits = OpenConnections.Limits()
    limits.request = .milliseconds(200)
    try await withServer(limits) { port in
      let slow = try RawSocket(port: port)
      try await eventually("the slow connection to be ended", within: .seconds(30)) {
        try? slow.send("G")
        return slow.hasEnded
      }
    }
  }

  @Test func `an answer that nobody takes is ended, one that is being made is not`() throws {
    var limits = OpenConnections.Limits()
    limits.answer = .zero
    let connections = OpenConnections(limits)
    let (left, right) = try RawSocket.pair()
    connections.add(1, socket: left.descriptor, address: [])
    connections.set(1, .answering)
    connections.endLate(at: .now + .seconds(3600))
    #expect(!right.hasEnded)
    connections.set(1, .sending)
    connections.endLate()
    #expect(right.hasEnded)
  }

  @Test func `slow connections never keep a health check out`() async throws {
    var limits = OpenConnections.Limits()
    (limits.perAddress, limits.total) = (8, 16)
    try await withServer(limits) { port in
      var slow: [RawSocket] = []
      for _ in 0..<100 {
        let client = try RawSocket(port: port)
        try client.send("GET / HTTP/1.1\r\n")
        slow.append(client)
      }
      let check = try RawSocket(port: port)
      try check.send(Self.request)
      let answer = try check.receive()
      #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("alive"))
      #expect(slow.count == 100)
    }
  }

  @Test func `what waits for the database has 32 places`() {
    let places = ReaderPlaces()
    for _ in 1...32 { #expect(places.enter()) }
    #expect(!places.enter())
    places.leave()
    #expect(places.enter() && !places.enter())
  }
}
