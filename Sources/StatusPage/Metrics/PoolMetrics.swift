import JobModel
import JobQueue

/// What metrics say, from what is known. Every label has few values: queues, states, error classes.
struct PoolMetrics: Sendable {
  /// The program's.
  var version: String
  /// nil where the database did not answer.
  var live: LiveFacts?
  var counted: CountedFacts?
  /// Facts about the process that serves the metrics; nil if they are printed once.
  var process: ProcessFacts?

  struct ProcessFacts: Sendable {
    var leader: LeaderFacts
    var ended: EndedCounter
    /// Seconds since the counted facts were read.
    var countedAge: Double?
    /// How long reading them took.
    var countedSeconds: Double?
    /// How long it took to make this answer ready.
    var scrapeSeconds: Double
  }

  var families: [MetricFamily] {
    [
      MetricFamily(
        "haul_up", "Whether the database answered and has this program's schema.",
        live == nil ? 0 : 1),
      MetricFamily(
        "haul_build_info", "The version of the program that tells this.",
        [MetricFamily.Sample(labels: [("version", version)], value: 1)]),
    ] + (live.map { totals($0) + workers($0) } ?? []) + (counted.map(counts) ?? [])
      + (process.map(own) ?? [])
  }

  private func totals(_ live: LiveFacts) -> [MetricFamily] {
    let totals = live.totals
    return [
      MetricFamily(
        "haul_ended_jobs", "Jobs that have ended and not been queued again, by state.",
        by: "state",
        [
          ("completed", Double(totals.completed)), ("failed", Double(totals.failed)),
          ("cancelled", Double(totals.cancelled)),
        ]),
      MetricFamily(
        "haul_unfinished_jobs", "Jobs that have not ended, running ones included.",
        Double(totals.unfinished)),
      MetricFamily("haul_running_jobs", "Jobs under lease.", Double(totals.running)),
      MetricFamily(
        "haul_completed_bytes", "Lengths of the files of completed jobs.",
        Double(totals.completedBytes)),
      MetricFamily(
        "haul_transfer_bytes_per_second", "What all transfers together receive, lately.",
        Double(totals.rate)),
      MetricFamily(
        "haul_leader_round_age_seconds",
        "Time since the pool's leader, whoever that is, last looked for dead workers: some 1 to 3 seconds.",
        totals.leaderRoundAge),
    ]
  }

  private func workers(_ live: LiveFacts) -> [MetricFamily] {
    let counts = Dictionary(uniqueKeysWithValues: live.workerCounts.map { ($0.state, $0) })
    let present = WorkerState.present.compactMap { counts[$0] }
    return [
      MetricFamily(
        "haul_workers", "Workers by state; dead and stopped ones of all time.", by: "state",
        WorkerState.known.map { ($0.rawValue, Double(counts[$0]?.workers ?? 0)) }),
      MetricFamily(
        "haul_worker_places", "Jobs that workers in state alive may hold at once, together.",
        Double(counts[.alive]?.concurrency ?? 0)),
      MetricFamily(
        "haul_oldest_heartbeat_age_seconds",
        "Time since the oldest last heartbeat of a worker that is neither stopped nor dead.",
        present.map(\.silence).max()),
    ]
  }

  /// The largest of what any worker may add to, and the others as one, so that no series is made for each.
  static func bounded(_ values: [(String, Double)]) -> [(String, Double)] {
    let most = 50
    guard values.count > most else { return values }
    let sorted = values.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    // One of the largest may be called as the others are together.
    let (named, rest) = (sorted.prefix(most).filter { $0.0 != "other" }, sorted.dropFirst(most))
    let others = sorted.prefix(most).filter { $0.0 == "other" } + rest
    return named + [("other", others.reduce(0) { $0 + $1.1 })]
  }

  private func counts(_ counted: CountedFacts) -> [MetricFamily] {
    let reasons = IdleReason.allCases.map(\.rawValue)
    let hosts = Dictionary(uniqueKeysWithValues: counted.hostCounts.map { ($0.whyIdle, $0.hosts) })
    let attempts = Dictionary(
      uniqueKeysWithValues: counted.attempts.map { ($0.result, $0.attempts) })
    return queues(counted.queues) + [
      MetricFamily(
        "haul_failed_jobs", "Jobs that are failed now, by error class.", by: "error",
        Self.bounded(counted.failures.map { ($0.error?.rawValue ?? "unknown", Double($0.jobs)) })),
      MetricFamily(
        "haul_hosts",
        "Hosts by what keeps more from starting on them; open: nothing does.", by: "state",
        [("open", Double(hosts[nil] ?? 0))] + reasons.map { ($0, Double(hosts[$0] ?? 0)) }),
      MetricFamily(
        "haul_attempts_total",
        "Leases that have ended, by how; released and rescued ones go on elsewhere.", by: "result",
        AttemptResult.ended.map { ($0.rawValue, Double(attempts[$0] ?? 0)) }),
      MetricFamily(
        "haul_handoffs_total", "Leases that another went on with.",
        Double(counted.attempts.map(\.takenOver).reduce(0, +))),
      MetricFamily(
        "haul_fetched_bytes_total",
        "Bytes that leases which have ended received over the network.",
        Double(counted.attempts.map(\.fetched).reduce(0, +))),
      MetricFamily(
        "haul_oldest_snapshot_age_seconds",
        "Age of the oldest transaction, of those this user may see, that keeps dead rows from being cleared away.",
        counted.oldestSnapshot ?? 0),
    ]
  }

  private func queues(_ queues: [QueueRow]) -> [MetricFamily] {
    let jobs = queues.flatMap { queue in
      [
        ("queued", queue.queued), ("interrupted", queue.interrupted),
        ("scheduled", queue.scheduled), ("paused", queue.held), ("running", queue.running),
      ].map { state, count in
        MetricFamily.Sample(
          labels: [("queue", queue.queue), ("state", state)], value: Double(count))
      }
    }
    return [
      MetricFamily("haul_jobs", "Jobs that have not ended, by queue and state.", jobs),
      MetricFamily(
        "haul_queue_paused", "Whether an operator has paused the queue.", by: "queue",
        queues.map { ($0.queue, $0.paused ? 1 : 0) }),
      MetricFamily(
        "haul_queue_workers", "Live workers that serve the queue; 0: nothing of it starts.",
        by: "queue", queues.map { ($0.queue, Double($0.workers)) }),
      MetricFamily(
        "haul_queue_transfer_bytes_per_second", "What the queue's transfers receive, lately.",
        by: "queue", queues.map { ($0.queue, Double($0.rate)) }),
    ]
  }

  private func own(_ process: ProcessFacts) -> [MetricFamily] {
    [
      MetricFamily(
        "haul_jobs_ended_total", "Jobs that ended since this process was first asked, by state.",
        by: "state",
        [
          ("completed", Double(process.ended.completed)),
          ("failed", Double(process.ended.failed)),
          ("cancelled", Double(process.ended.cancelled)),
        ]),
      MetricFamily(
        "haul_leader", "Whether this process keeps house for the pool.",
        process.leader.isLeading ? 1 : 0),
      MetricFamily(
        "haul_leader_rounds_total", "Rounds of housekeeping by this process.",
        Double(process.leader.rounds)),
      MetricFamily(
        "haul_counts_age_seconds",
        "Age of what counts rows: jobs by queue, hosts, attempts, failures, snapshots.",
        process.countedAge),
      MetricFamily(
        "haul_counts_duration_seconds", "How long counting them took.", process.countedSeconds),
      MetricFamily(
        "haul_scrape_duration_seconds", "How long it took to get this answer ready.",
        process.scrapeSeconds),
    ]
  }
}
