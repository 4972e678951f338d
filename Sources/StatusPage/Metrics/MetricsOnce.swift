package import JobQueue

/// Returns the metrics of a pool in the Prometheus text format, without metrics about this process.
package func metricsText(reading queue: JobQueue, version: String) async throws -> String {
  let metrics = try await queue.snapshot { queue in
    PoolMetrics(
      version: version, live: try await LiveFacts(reading: queue, since: { $0 }),
      counted: try await CountedFacts(reading: queue))
  }
  return MetricsFormat.prometheus.text(metrics.families)
}
