package import JobQueue

/// Returns the metrics of a pool in Prometheus's text format, without the metrics of a process that serves them.
package func metricsText(reading queue: JobQueue, version: String) async throws -> String {
  let metrics = try await queue.snapshot { queue in
    PoolMetrics(
      version: version, live: try await LiveFacts(reading: queue, since: { $0 }),
      counted: try await CountedFacts(reading: queue))
  }
  return MetricsFormat.prometheus.text(metrics.families)
}
