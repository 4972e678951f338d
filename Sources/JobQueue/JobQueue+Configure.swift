import FoundationEssentials
package import JobModel
import Postgres

/// Changes to the settings of a queue. A setting that is nil does not change.
package struct QueueSettings: Sendable, Encodable, Equatable {
  package var paused: Bool?
  /// The maximum number of the queue's jobs that run at the same time in the whole pool. `.some(nil)` removes the limit.
  package var maxRunning: Int??
  /// The weight of the queue, from 1 to 1,000: how often a worker looks for jobs in this queue first, relative to the other
  /// queues of the worker.
  package var weight: Int?
  /// The default options of jobs that are submitted later. Each key is the raw value of a ``JobOption``. A job's own options
  /// take precedence. A nil value removes the default.
  package var defaults: [String: JobOption.Value?] = [:]
  package var retention = RetentionSettings()

  /// Creates settings that change nothing.
  package init() {}

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encodeIfPresent(paused, forKey: Key("paused"))
    if let maxRunning { try container.encode(maxRunning, forKey: Key("max_running")) }
    try container.encodeIfPresent(weight, forKey: Key("weight"))
    if !defaults.isEmpty { try container.encode(defaults, forKey: Key("defaults")) }
    for (name, time) in retention.all { try container.encode(time, forKey: Key(name)) }
  }
}

/// The operators' settings of hosts and queues.
extension JobQueue {
  /// Sets the limits of a host for the whole pool. `name` may be a `*.suffix`, or `*` for all hosts. A limit that is nil does
  /// not change.
  ///
  /// - Parameters:
  ///   - cap: the maximum number of concurrent transfers.
  ///   - interval: the minimum time between starts; `.zero` removes this minimum.
  ///   - burst: the number of transfers that may start at the same time after a time without starts.
  /// - Returns: whether every host has its limits now. If not, other sessions have locked some hosts, and the leader changes
  ///   these hosts as soon as they are free.
  /// - Throws: `JobQueueError.refused` if `name` is not a host.
  @discardableResult
  package func setHost(
    _ name: String, cap: Int? = nil, interval: Duration? = nil, burst: Int? = nil
  ) async throws -> Bool {
    try await rows(
      "SELECT haul.set_host($1, $2::int, $3::double precision, $4::int)",
      [name, cap, interval.map { $0 / .seconds(1) }, burst])
    return try await applyPolicies(name)
  }

  /// Removes the limits that were set for a host or a `*.suffix`.
  /// - Returns: whether every host has its limits now, as after ``setHost(_:cap:interval:burst:)``.
  /// - Throws: `JobQueueError.noSuchName` if no limits were set for `pattern`.
  @discardableResult
  package func unsetHost(_ pattern: String) async throws -> Bool {
    _ = try await naming("policy", pattern) {
      try await rows("SELECT haul.unset_host($1)", [pattern])
    }
    return try await applyPolicies(pattern)
  }

  /// Applies a changed policy to its hosts, in transactions of 1,000 hosts. Tries again for 0.2 seconds if other sessions have
  /// locked the rest. Returns whether no host is left. A failure is no error, because the policy is set and the leader
  /// continues.
  private func applyPolicies(_ pattern: String) async throws -> Bool {
    var tries = 0
    while tries < 10 {
      guard
        let row = try? await rows(
          "SELECT applied, more FROM haul.apply_policies(1000, $1)", [pattern])[0]
      else {
        try Task.checkCancellation()
        return false
      }
      guard try row.decode("more", as: Bool.self) else { return true }
      if try row.decode("applied", as: Int.self) == 0 {
        tries += 1
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    return false
  }

  /// Blocks a host for `time`. If `time` is nil, the host is blocked until ``unblockHost(_:)``. No job of a blocked host
  /// starts. Running transfers continue.
  package func blockHost(_ name: String, for time: Duration?) async throws {
    try await rows(
      "SELECT haul.block_host($1, make_interval(secs => $2::double precision))",
      [name, time.map { $0 / .seconds(1) }])
  }

  /// The jobs of a host that wait for their own start times.
  package struct Scheduled: Sendable, Equatable {
    package var jobs: Int
    /// The time until the first scheduled job of the host may start; `.zero` if there is no such job.
    package var next: Duration
    package var last: Duration
  }

  /// Unblocks a host that an operator or failures have blocked, and resets the host's count of failures. Returns the jobs of
  /// the host that still wait for their own start times.
  /// - Throws: `JobQueueError.noSuchName` for an unknown host.
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

  /// Creates a queue. The files of its jobs go to the store `store`.
  package func createQueue(_ name: String, store: String) async throws {
    let _: Int = try await call("SELECT haul.create_queue($1, $2)", [name, store])
  }

  /// Changes the settings of a queue. The name `*` stands for the retention of all queues without one of their own.
  /// - Throws: `JobQueueError.noSuchName` for a queue that does not exist.
  package func setQueue(_ name: String, _ settings: QueueSettings) async throws {
    let json = String(decoding: try JSONEncoder().encode(settings), as: UTF8.self)
    try await rows("SELECT haul.set_queue($1, $2::jsonb)", [name, json])
  }

  /// Deletes a queue, so that its name can be used again. Its finished jobs stay.
  /// - Throws: `JobQueueError.refused` while jobs of the queue wait or run.
  package func deleteQueue(_ name: String) async throws {
    try await rows("SELECT haul.delete_queue($1)", [name])
  }
}
