import Arguments
import HaulSystem
import StatusPage

struct MetricsCommand: HaulCommand {
  static let name = "metrics"
  static let abstract = "Print metrics of the pool once, for node_exporter."
  static let discussion = """
    In Prometheus's text format, as its textfile collector takes it: 'haul metrics > haul.prom.new && mv haul.prom.new \
    haul.prom' in its directory, since it may read at any moment. 'haul coordinator --listen' serves the same, and what \
    it knows of itself besides. Counts rows: where there are millions of jobs, once a minute is often enough.
    """
  static let examples = [
    Example("haul metrics", "All of them."),
    Example(
      "haul metrics --database service=pool", "Those of the pool that pg_service.conf calls so."),
  ]
  static let options: [Option<Self>] = group(\.database)

  var database = DatabaseOptions()

  func perform() async throws {
    let text = try await database.withQueue { queue in
      try await metricsText(reading: queue, version: Haul.version)
    }
    try StandardStream.output.write(text)
  }
}
