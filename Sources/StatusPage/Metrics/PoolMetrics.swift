import JobModel
import JobQueue

/// Makes the metrics of a pool. Every label has few values: queues, states, error classes.
struct PoolMetrics: Sendable {
  /// The version of this program.
  var version: String
  /// The live facts, or nil if the database did not answer.
  var live: LiveFacts?
  var counted: CountedFacts?
  /// Facts about the process that serves the metrics. Nil for `haul metrics`, which prints them once.
  var process: ProcessFacts?

  struct ProcessFacts: Sendable {
    var leader: LeaderFacts
    var ended: EndedCounter
    /// The time in seconds since the counted facts were read; nil before the first reading.
    var countedAge: Double?
    /// The time in seconds that reading the counted facts took; nil before the first reading.
    var countedSeconds: Double?
    /// The time in seconds that preparing this response took.
    var scrapeSeconds: Double
  }

  var families: [MetricFamily] {
    [
      MetricFamily(
        "haul_up", "1 if the database answered and its schema matches this program, otherwise 0.",
        live == nil ? 0 : 1),
      MetricFamily(
        "haul_build_info", "Version of the program that exports these metrics.",
        [MetricFamily.Sample(labels: [("version", version)], value: 1)]),
    ] + (live.map { totals($0) + workers($0) } ?? []) + (counted.map(counts) ?? [])
      + (process.map(own) ?? [])
  }

  private func totals(_ live: LiveFacts) -> [MetricFamily] {
    let totals = live.totals
    return [
      MetricFamily(
        "haul_ended_jobs",
        "Jobs that have ended, by state. Jobs that were queued again no longer count.",
        by: "state",
        [
          ("completed", Double(totals.completed)), ("failed", Double(totals.failed)),
          ("cancelled", Double(totals.cancelled)),
        ]),
      MetricFamily(
        "haul_unfinished_jobs", "Jobs that have not ended, including running jobs.",
        Double(totals.unfinished)),
      MetricFamily(
        "haul_running_jobs", "Jobs that workers are running.", Double(totals.running)),
      MetricFamily(
        "haul_completed_bytes", "Total size of the files of completed jobs.",
        Double(totals.completedBytes)),
      MetricFamily(
        "haul_transfer_bytes_per_second", "Current download rate of all transfers together.",
        Double(totals.rate)),
      MetricFamily(
        "haul_leader_round_age_seconds",
        "Time since the leader, which maintains the pool, last looked for dead workers. Normally 1 to 3 seconds.",
        totals.leaderRoundAge),
      MetricFamily(
        "haul_database_time_seconds",
        "Time on the database's clock when this was read, in seconds since 1970.", totals.now),
    ]
  }

  private func workers(_ live: LiveFacts) -> [MetricFamily] {
    let counts = Dictionary(uniqueKeysWithValues: live.workerCounts.map { ($0.state, $0) })
    let present = WorkerState.present.compactMap { counts[$0] }
    return [
      MetricFamily(
        "haul_workers",
        "Workers by state, including all dead and stopped workers since the pool was created.",
        by: "state",
        WorkerState.known.map { ($0.rawValue, Double(counts[$0]?.workers ?? 0)) }),
      MetricFamily(
        "haul_worker_places",
        "Maximum number of jobs that all live workers together run at the same time.",
        Double(counts[.alive]?.concurrency ?? 0)),
      MetricFamily(
        "haul_oldest_heartbeat_age_seconds",
        "Time since the last heartbeat of the live worker that has been silent the longest.",
        present.map(\.silence).max()),
      MetricFamily(
        "haul_workers_in_trouble",
        "Live workers that cannot write to one of their stores, for example because a disk is full.",
        Double(live.workers.filter { $0.trouble != nil }.count)),
    ]
  }

  /// Returns the 50 largest values by name, and the sum of the rest as `other`. This limits the number of labels, because
  /// workers can add names.
  static func bounded(_ values: [(String, Double)]) -> [(String, Double)] {
    let most = 50
    guard values.count > most else { return values }
    let sorted = values.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    // An error class may itself be called "other".
    let (named, rest) = (sorted.prefix(most).filter { $0.0 != "other" }, sorted.dropFirst(most))
    let others = sorted.prefix(most).filter { $0.0 == "other" } + rest
    return named + [("other", others.reduce(0) { $0 + $1.1 })]
  }

  private func counts(_ counted: CountedFacts) -> [MetricFamily] {
    let reasons = IdleReason.allCases.map(\.rawValue)
    let hosts = Dictionary(uniqueKeysWithValues: counted.hostCounts.map { ($0.whyIdle, $0.hosts) })
    let attempts = Dictionary(
      uniqueKeysWithValues: counted.attempts.map { ($0.result, $0.attempts) })
    return queues(counted) + [
      MetricFamily(
        "haul_failed_jobs", "Jobs in the state failed, by error class.", by: "error",
        Self.bounded(counted.failures.map { ($0.error?.rawValue ?? "unknown", Double($0.jobs)) })),
      MetricFamily(
        "haul_hosts",
        "Hosts by the reason why no more jobs start on them. The reason open means that jobs can start.",
        by: "state",
        [("open", Double(hosts[nil] ?? 0))] + reasons.map { ($0, Double(hosts[$0] ?? 0)) }),
      MetricFamily(
        "haul_attempts_total",
        "Attempts that have ended, by result. If the result is released or rescued, another attempt continues the job.",
        by: "result",
        AttemptResult.ended.map { ($0.rawValue, Double(attempts[$0] ?? 0)) }),
      MetricFamily(
        "haul_handoffs_total",
        "Released or rescued attempts whose job another attempt continued.",
        Double(counted.attempts.map(\.takenOver).reduce(0, +))),
      MetricFamily(
        "haul_fetched_bytes_total",
        "Bytes received over the network by attempts that have ended.",
        Double(counted.attempts.map(\.fetched).reduce(0, +))),
      MetricFamily(
        "haul_oldest_snapshot_age_seconds",
        "Age of the oldest visible transaction that keeps VACUUM from removing dead rows.",
        counted.oldestSnapshot ?? 0),
    ]
  }

  private func queues(_ counted: CountedFacts) -> [MetricFamily] {
    let queues = counted.queues
    let ages = Dictionary(uniqueKeysWithValues: counted.oldestJobs.map { ($0.queue, $0.age) })
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
        "haul_queue_paused", "1 if an operator has paused the queue, otherwise 0.", by: "queue",
        queues.map { ($0.queue, $0.paused ? 1 : 0) }),
      MetricFamily(
        "haul_queue_workers",
        "Live workers that serve the queue. If there are 0, no job of the queue starts.",
        by: "queue", queues.map { ($0.queue, Double($0.workers)) }),
      MetricFamily(
        "haul_queue_transfer_bytes_per_second", "Current download rate of the queue's transfers.",
        by: "queue", queues.map { ($0.queue, Double($0.rate)) }),
      MetricFamily(
        "haul_queue_oldest_job_age_seconds",
        "Time since the oldest waiting job of the queue was submitted. If no job waits, it is 0.",
        by: "queue", queues.map { ($0.queue, ages[$0.queue] ?? 0) }),
    ]
  }

  private func own(_ process: ProcessFacts) -> [MetricFamily] {
    [
      MetricFamily(
        "haul_jobs_ended_total",
        "Jobs that ended since the first scrape of this process, by state.",
        by: "state",
        [
          ("completed", Double(process.ended.completed)),
          ("failed", Double(process.ended.failed)),
          ("cancelled", Double(process.ended.cancelled)),
        ]),
      MetricFamily(
        "haul_leader", "1 if this process is the leader, which maintains the pool, otherwise 0.",
        process.leader.isLeading ? 1 : 0),
      MetricFamily(
        "haul_leader_rounds_total", "Maintenance rounds that this process has run.",
        Double(process.leader.rounds)),
      MetricFamily(
        "haul_counts_age_seconds",
        "Time since Haul last counted jobs, hosts, attempts and failures for these metrics.",
        process.countedAge),
      MetricFamily(
        "haul_counts_duration_seconds",
        "How long the last count of jobs, hosts, attempts and failures took.",
        process.countedSeconds),
      MetricFamily(
        "haul_scrape_duration_seconds", "Duration of this scrape.",
        process.scrapeSeconds),
    ]
  }
}
