import FoundationEssentials
import Postgres

/// Which jobs an operator means. Parts narrow each other; an empty selector is refused.
package struct JobSelector: Sendable, Encodable, Equatable {
  package var ids: [Int64]?
  package var batch: String?
  package var queue: String?
  package var host: String?
  package var state: String?
  package var error: String?

  /// Nothing selected yet.
  package init() {}
}

/// What operators call.
extension JobQueue {
  /// What `control` can do to jobs.
  package enum Action: String, Sendable { case pause, resume, cancel, retry }

  /// Does `action` to every job of `selector`, in steps that each commit, and returns how many it changed.
  ///
  /// Running jobs are asked to stop and counted; their workers carry it out within a heartbeat. `onStep` is told how many
  /// it was so far.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func control(
    _ action: Action, _ selector: JobSelector, onStep: (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await requireNames(selector)
    return try await steps(
      "haul.\(action.rawValue)($1::jsonb)", [try Self.json(selector)], onStep)
  }

  /// Gives the jobs of `selector` that have not ended another priority, 0 (first) to 9, in steps that each commit, and
  /// returns how many it changed. Of a running job it counts when it waits again.
  package func prioritize(
    _ selector: JobSelector, to priority: Int, onStep: (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await requireNames(selector)
    return try await steps(
      "haul.prioritize($1::jsonb, $2::smallint)", [try Self.json(selector), priority], onStep)
  }

  /// Calls a function that does a part of its work each time, until nothing is left; returns the sum.
  private func steps(
    _ call: String, _ parameters: [(any PostgresEncodable)?], _ onStep: (Int) -> Void
  ) async throws -> Int {
    var total = 0
    while true {
      let row = try await rows("SELECT changed, more FROM \(call)", parameters)[0]
      total += try row.decode("changed", as: Int.self)
      if try !row.decode("more", as: Bool.self) { return total }
      onStep(total)
    }
  }

  /// Queues completed jobs again, and returns how many of these still were completed.
  package func redo(_ jobs: [Int64]) async throws -> Int {
    try await call("SELECT haul.redo($1::bigint[])", [jobs])
  }

  /// Records a store's marker; returns the id of the instance. Repeating it is not an error.
  package func initStore(
    name: String, marker: String, machine: String, root: String
  ) async throws -> Int {
    try await call(
      "SELECT haul.init_store($1, $2::uuid, $3, $4)", [name, marker, machine, root])
  }

  /// What tells this database's part files from another's on the same store.
  package func poolID() async throws -> String { try await call("SELECT haul.pool_id()", []) }

  /// Takes back the leases of workers whose processes the caller knows to be gone; returns how many.
  package func rescue(workers: [Int64]) async throws -> Int {
    try await call("SELECT jsonb_array_length(haul.rescue_workers($1::bigint[]))", [workers])
  }

  /// Asks a worker to drain; false if it is not running.
  package func drainWorker(_ worker: Int64) async throws -> Bool {
    try await call("SELECT haul.drain_worker($1)", [worker])
  }
}

/// One job to submit.
package struct SubmitLine: Sendable {
  /// The number of the line it came from, for messages.
  package var line: Int
  package var url: String
  /// The host it counts against, as `name` or `name:port`.
  package var host: String
  /// Final place below the store's root.
  package var path: String
  /// Wishes of this line; they go before those of the submission.
  package var options: JobOptions?

  /// A line made of its parts.
  package init(line: Int, url: String, host: String, path: String, options: JobOptions? = nil) {
    self.line = line
    self.url = url
    self.host = host
    self.path = path
    self.options = options
  }
}

/// What all lines of a submission share.
package struct Submission: Sendable {
  package var queue: String
  package var batch: String?
  /// 0 (first) to 9.
  package var priority: Int
  package var options: JobOptions
  /// Not before this long from now.
  package var after: Duration?

  /// A submission made of its parts.
  package init(
    queue: String, batch: String? = nil, priority: Int = 5, options: JobOptions = JobOptions(),
    after: Duration? = nil
  ) {
    self.queue = queue
    self.batch = batch
    self.priority = priority
    self.options = options
    self.after = after
  }
}

extension JobQueue {
  /// Submits all lines or none, in one transaction. Durable on return. Lines that are there already are
  /// skipped, so that a submission can be repeated.
  /// - Throws: `JobQueueError.noSuchName` for the queue, `.refused` naming the line for a path that another URL
  ///   has taken.
  package func submit(_ submission: Submission, _ lines: [SubmitLine]) async throws -> SubmitReply {
    let options = try Self.json(submission.options)
    let after = submission.after.map { "\($0 / .seconds(1)) seconds" }
    // Committed before the submission begins: another one need not wait for its end to use them.
    try await ensurePartitions(room: Int64(lines.count + 100_000))
    return try await staging(lines) { queue in
      try await queue.callJSON(
        "SELECT haul.submit($1, $2, $3::smallint, $4::jsonb, $5::interval)",
        [submission.queue, submission.batch, submission.priority, options, after])
    }
  }

  /// Stages `lines` and gives `body` the queue, in one transaction.
  func staging<Result: Sendable>(
    _ lines: [SubmitLine], _ body: @Sendable (JobQueue) async throws -> Result
  ) async throws -> Result {
    do {
      return try await connection.transaction { connection in
        _ = try await connection.copyIn(
          "COPY haul.staging (line, url, host, path, options) FROM STDIN", CopyChunks(lines: lines))
        return try await body(JobQueue(connection))
      }
    } catch let error as PostgresError {
      throw JobQueueError(error) ?? error
    }
  }
}

/// Submission lines in COPY's text format, a thousand a chunk.
private struct CopyChunks: AsyncSequence, Sendable {
  typealias Element = [UInt8]
  let lines: [SubmitLine]

  struct AsyncIterator: AsyncIteratorProtocol {
    let lines: [SubmitLine]
    var next = 0

    mutating func next() async throws -> [UInt8]? {
      if next >= lines.count { return nil }
      var chunk: [UInt8] = []
      for line in lines[next..<Swift.min(next + 1000, lines.count)] {
        let options = try line.options.map(JobQueue.json)
        chunk.append(contentsOf: String(line.line).utf8)
        for field in [line.url, line.host, line.path, options] {
          chunk.append(UInt8(ascii: "\t"))
          Self.append(field, to: &chunk)
        }
        chunk.append(UInt8(ascii: "\n"))
      }
      next += 1000
      return chunk
    }

    /// PostgreSQL manual, COPY, "Text Format": backslash, newline, return and tab are escaped, NULL is `\N`.
    static func append(_ field: String?, to chunk: inout [UInt8]) {
      guard let field else {
        chunk.append(contentsOf: "\\N".utf8)
        return
      }
      for byte in field.utf8 {
        switch byte {
        case UInt8(ascii: "\\"): chunk.append(contentsOf: "\\\\".utf8)
        case UInt8(ascii: "\n"): chunk.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): chunk.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): chunk.append(contentsOf: "\\t".utf8)
        default: chunk.append(byte)
        }
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(lines: lines) }
}
