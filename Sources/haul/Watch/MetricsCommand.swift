import Arguments
import HaulSystem
import StatusPage

struct MetricsCommand: HaulCommand {
  static let name = "metrics"
  static let abstract = "Print the pool's metrics once, for node_exporter."
  static let discussion = """
    Haul writes the Prometheus text format, for the textfile collector of node_exporter. The collector may \
    read its file at any moment. So write to another file, and then rename that file: 'haul metrics > \
    haul.prom.new && mv haul.prom.new haul.prom'. 'haul coordinator --listen' serves the same metrics and a \
    few more about the coordinator itself. The command counts rows of the database. With millions of jobs, run \
    it at most once a minute.
    """
  static let examples = [
    Example("haul metrics", "Prints all metrics."),
    Example(
      "haul metrics --database service=pool",
      "Prints the metrics of the pool that a libpq service names."),
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
