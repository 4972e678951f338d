import JobModel
import JobQueue
import TestSupport
import Testing

/// A file at an origin that stops half-way until the test lets it go on: so a job is caught in the middle.
struct GatedFile {
  static let length: Int64 = 8 << 20
  static let half: Int64 = 4 << 20

  let gate = Gate("second half")
  let origin: OriginServer
  private let pattern: Pattern

  /// Serves it, in parts where they are asked for, and any number of `small` files at `/small/…`.
  init(acceptsRanges: Bool = true) throws {
    var representation = Representation(seed: 7, length: Self.length)
    representation.acceptsRanges = acceptsRanges
    representation.gates = [Self.half: gate]
    pattern = representation.pattern
    origin = try OriginServer { [representation] request, reply in
      if request.path.hasPrefix("/small/") {
        try Representation(seed: 7, length: 1000).answer(request, reply)
      } else if request.path == "/file" {
        try representation.answer(request, reply)
      } else {
        try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      }
    }
  }

  /// Submits it to end up at `file`.
  func submit(to pool: HaulPool) async throws -> Int64 {
    try await pool.submit(origin.url("/file"), to: "file")
  }

  /// Waits until a worker has the first half on its disk and recorded.
  func checkpoint(_ worker: HaulProcess) async throws -> LogLine {
    try await worker.event("job.checkpoint") { $0[field: "offset"] == "\(Self.half)" }
  }

  /// Submits a small file and waits until it is there: whoever brought it has looked for all it may take.
  func roundTrip(_ pool: HaulPool, _ name: String) async throws {
    let job = try await pool.submit(origin.url("/small/\(name)"), to: name)
    try await pool.wait(for: job, toBe: "completed")
  }

  /// Where the file in a directory of the store first differs from what is served; nil: it is right.
  func firstDifference(in directory: String) throws -> Int64? {
    try FileTree.firstDifference(of: directory + "/file", from: pattern, length: Self.length)
  }
}

/// One attempt as the view `attempts` has it.
struct Attempt: Equatable, CustomStringConvertible {
  let result: String
  let resumedAt: Int64

  var description: String { "\(result) from \(resumedAt)" }

  init(_ result: String, from resumedAt: Int64) {
    self.result = result
    self.resumedAt = resumedAt
  }
}

extension HaulPool {
  /// The attempts of a job in their order.
  func attempts(of job: Int64) async throws -> [Attempt] {
    try await JobQueue(admin).attempts(of: job).map {
      Attempt($0.result.rawValue, from: $0.resumedAt)
    }
  }

  /// Ends a worker in order.
  func stop(_ worker: HaulProcess) async throws {
    worker.signal(15)
    #expect(try await worker.exit() == .code(0))
  }
}
