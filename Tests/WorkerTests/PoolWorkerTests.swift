import HaulTransfer
import Log
import Stores
import TestSupport
import Testing

@testable import Worker

/// A worker within this process.
struct PoolWorkerTests {
  private static let half: Int64 = 1 << 20

  /// Established connections to this port of this machine. (ss(8))
  private func connections(to port: UInt16) async throws -> [String] {
    try await ChildProcess.run(
      "ss", ["-H", "-t", "-n", "state", "established", "dport", "=", ":\(port)"]
    ).standardOutput
  }

  /// Whoever runs it may go on, and start another.
  @Test func `a worker that ends with an error has closed its connections`() async throws {
    let gate = Gate("second half")
    defer { gate.open() }
    let origin = try OriginServer { request, reply in
      var file = Representation(seed: 1, length: 2 * Self.half)
      file.gates = [Self.half: gate]
      try file.answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.submit(origin.url("/file"), to: "file")
      var configuration = WorkerConfiguration(
        conninfo: pool.database.conninfo,
        stores: [StoreMount(name: HaulPool.store, directory: pool.directory)], version: "test")
      configuration.allowsOwnOrigins = true
      let logger = Logger(format: .text, level: .error, component: "worker")
      let worker = try PoolWorker(configuration, logger: logger)
      let run = Task { try await worker.run() }
      try await eventually("half of the file") { worker.transfers.first?.fetched == Self.half }
      #expect(try await connections(to: origin.port).count == 1)
      run.cancel()
      await #expect(throws: CancellationError.self) { try await run.value }
      #expect(try await connections(to: origin.port) == [])
    }
  }
}
