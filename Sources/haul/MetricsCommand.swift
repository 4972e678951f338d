import Arguments
import Log
import StatusPage

struct MetricsCommand: HaulCommand {
  static let name = "metrics"
  static let abstract = "Print metrics of the pool once, for node_exporter."
  static let discussion = """
    In Prometheus's text format, as its textfile collector takes it; 'haul coordinator --listen' serves the same, \
    and what it knows of itself besides. Counts rows: once a minute is often enough where there are millions of jobs.
    """
  static let examples = [
    Example("haul metrics", "All of them."),
    Example(
      "haul metrics >haul.prom.$$ && mv haul.prom.$$ haul.prom",
      "For a directory of the textfile collector: never half a file."),
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
