import FoundationEssentials
package import JobModel
import Postgres

/// What is changed of a queue; what is absent stays.
package struct QueueSettings: Sendable, Encodable, Equatable {
  package var paused: Bool?
  /// How many of its jobs may run at once, pool-wide; `.some(nil)` = any number.
  package var maxRunning: Int??
  /// How often a worker looks here first, beside its other queues: 1 to 1,000.
  package var weight: Int?
  /// Options of jobs submitted from now on without their own, by the raw values of ``JobOption``; a nil removes one.
  package var defaults: [String: JobOption.Value?] = [:]

  /// Nothing changed yet.
  package init() {}

  private enum Key: String, CodingKey {
    case paused, weight, defaults
    case maxRunning = "max_running"
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encodeIfPresent(paused, forKey: .paused)
    if let maxRunning { try container.encode(maxRunning, forKey: .maxRunning) }
    try container.encodeIfPresent(weight, forKey: .weight)
    if !defaults.isEmpty { try container.encode(defaults, forKey: .defaults) }
  }
}

/// What operators set up: hosts and queues.
extension JobQueue {
  /// Sets how a host may be used, pool-wide; `name` may be a `*.suffix`, or `*`. What is nil stays as it is.
  ///
  /// - Parameters:
  ///   - cap: transfers at once.
  ///   - interval: the least time between starts; `.zero` = none.
  ///   - burst: starts that may follow each other at once after a pause.
  /// - Throws: `JobQueueError.refused` for what is no host.
  package func setHost(
    _ name: String, cap: Int? = nil, interval: Duration? = nil, burst: Int? = nil
  ) async throws {
    try await rows(
      "SELECT haul.set_host($1, $2::int, $3::double precision, $4::int)",
      [name, cap, interval.map { $0 / .seconds(1) }, burst])
  }

  /// Forgets what was set for a host or `*.suffix`.
  /// - Throws: `JobQueueError.noSuchName` where nothing was.
  package func unsetHost(_ pattern: String) async throws {
    _ = try await naming("policy", pattern) {
      try await rows("SELECT haul.unset_host($1)", [pattern])
    }
  }

  /// Starts no jobs on a host for this time, or until ``unblockHost(_:)``. Running transfers continue.
  package func blockHost(_ name: String, for time: Duration?) async throws {
    try await rows(
      "SELECT haul.block_host($1, make_interval(secs => $2::double precision))",
      [name, time.map { $0 / .seconds(1) }])
  }

  /// Jobs of a host that wait for times of their own.
  package struct Scheduled: Sendable, Equatable {
    package var jobs: Int
    /// From now; `.zero` where there is none.
    package var next: Duration
    package var last: Duration
  }

  /// Ends what keeps a host from being asked, an operator's word or its own trouble, and forgets that trouble. Returns what
  /// waits all the same.
  /// - Throws: `JobQueueError.noSuchName` for a host that is not known.
  @discardableResult
  package func unblockHost(_ name: String) async throws -> Scheduled {
    let row = try await naming("listed host", name) {
      try await rows("SELECT scheduled, next_due, last_due FROM haul.unblock_host($1)", [name])[0]
    }
    return Scheduled(
      jobs: try row.decode("scheduled"),
      next: .seconds(try row.decode("next_due", as: Double?.self) ?? 0),
      last: .seconds(try row.decode("last_due", as: Double?.self) ?? 0))
  }

  /// Makes a queue on a store.
  package func createQueue(_ name: String, store: String) async throws {
    let _: Int = try await call("SELECT haul.create_queue($1, $2)", [name, store])
  }

  /// Changes a queue.
  /// - Throws: `JobQueueError.noSuchName` for a queue that does not exist.
  package func setQueue(_ name: String, _ settings: QueueSettings) async throws {
    let json = String(decoding: try JSONEncoder().encode(settings), as: UTF8.self)
    try await rows("SELECT haul.set_queue($1, $2::jsonb)", [name, json])
  }

  /// Deletes a queue and gives its name free. Its finished jobs stay.
  /// - Throws: `JobQueueError.refused` while jobs of it wait or run.
  package func deleteQueue(_ name: String) async throws {
    try await rows("SELECT haul.delete_queue($1)", [name])
  }
}
