import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Many exchanges, large bodies.
@Suite(.timeLimit(.minutes(5)))
struct EngineScaleTests {
  @Test func `150 exchanges at once, again and again, keep no more connections than allowed`()
    async throws
  {
    let origin = try OriginServer { _, reply in
      try reply.answer("Content-Length: 5", "12345")
    }
    var configuration = Engine.Configuration.test
    configuration.maxConnections = 64
    try await withEngine(configuration) { engine in
      for _ in 0..<3 {
        let complete = await withTaskGroup { group in
          for number in 0..<150 {
            group.addTask { await engine.fetch(origin.url("/\(number)")).0.outcome == .complete }
          }
          return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(complete == 150)
        let kept = try connections(to: origin.port)
        #expect(kept <= 64)
      }
    }
    let left = try connections(to: origin.port)
    #expect(left == 0)
  }

  @Test func `a body of 2 GiB passes through flat memory`() async throws {
    let size: Int64 = 2 << 30
    let piece = Pattern(seed: 3).bytes(in: 0..<1 << 20)
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(size)")
      for _ in 0..<size / Int64(piece.count) { try reply.body(piece) }
    }
    let before = try residentBytes()
    try await withEngine { engine in
      let peak = Watched(before)
      let sink = Recorder(keepsBytes: false) { log in
        if log.buffers % 256 == 0, let now = try? residentBytes() {
          peak.update { $0 = max($0, now) }
        }
        return .more
      }
      let (result, _) = await engine.fetch(origin.url("/"), sink)
      #expect(result.outcome == .complete)
      #expect(result.bytes == size)
      // Other tests run in this process, too: half of the body is what can be said.
      #expect(peak.value - before < 1 << 30)
    }
  }
}

/// Established TCP connections to this loopback port, counted at the client's end.
private func connections(to port: UInt16) throws -> Int {
  let suffix = ":" + String(format: "%04X", port)
  return try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8)
    .split(separator: "\n").dropFirst()
    .filter {
      let columns = $0.split(separator: " ")
      return columns[2].hasSuffix(suffix) && columns[3] == "01"
    }.count
}

/// Memory of this process that is in RAM now.
private func residentBytes() throws -> Int64 {
  let columns = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
    .split(separator: " ")
  return (Int64(columns[1]) ?? 0) * 4096
}
