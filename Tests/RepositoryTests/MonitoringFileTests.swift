import Foundation
import TestSupport
import Testing

/// The dashboard and the alerts use metrics that Haul exports. StatusPageTests compares the same alerts with a running
/// coordinator, and lets promtool run their tests. `scripts/parts/monitoring` asks a Prometheus for every query.
struct MonitoringFileTests {
  /// The part of a Grafana dashboard that these tests read.
  private struct Dashboard: Decodable {
    struct Panel: Decodable {
      let id: Int
      let title: String
      let targets: [Target]?
    }

    struct Target: Decodable {
      let datasource: Source
      let expr: String
    }

    struct Source: Decodable {
      let uid: String
    }

    let panels: [Panel]
  }

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: repositoryRoot.appending(path: path), encoding: .utf8)
  }

  /// The names of all metrics, from the code that makes them.
  private static func metrics() throws -> Set<String> {
    let code = try text("Sources/StatusPage/Metrics/PoolMetrics.swift")
    return Set(code.matches(of: /MetricFamily\(\s*"(haul_[a-z_]+)"/).map { String($0.1) })
  }

  private static func names(in text: String) -> Set<String> {
    Set(text.matches(of: /haul_[a-z_]+/).map { String($0.output) })
  }

  @Test func `the dashboard's queries use metrics that exist`() throws {
    let dashboard = try JSONDecoder().decode(
      Dashboard.self,
      from: Data(contentsOf: repositoryRoot.appending(path: "deploy/grafana/haul.json")))
    let metrics = try Self.metrics()
    #expect(metrics.count > 25)
    #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
    var count = 0
    for panel in dashboard.panels {
      for target in panel.targets ?? [] {
        count += 1
        let used = Self.names(in: target.expr)
        #expect(!used.isEmpty, "\(panel.title)")
        #expect(used.subtracting(metrics) == [], "\(panel.title)")
        #expect(target.datasource.uid == "${datasource}", "\(panel.title)")
      }
    }
    #expect(count > 20)
  }

  @Test(arguments: ["haul.rules.yml", "haul.rules.test.yml"])
  func `the alerts and their tests use metrics that exist`(file: String) throws {
    let used = Self.names(in: try Self.text("deploy/prometheus/\(file)"))
    #expect(used.count > 10)
    #expect(used.subtracting(try Self.metrics()) == [])
  }

  /// A test in which an alert fires is a block. One in which it does not is in braces.
  @Test func `each alert has a test in which it fires`() throws {
    let alerts = try Self.text("deploy/prometheus/haul.rules.yml")
      .matches(of: /- alert: (\w+)/).map { String($0.1) }
    let fired = try Self.text("deploy/prometheus/haul.rules.test.yml")
      .matches(of: /- alertname: (\w+)/).map { String($0.1) }
    #expect(alerts.count > 10)
    #expect(Set(alerts).count == alerts.count)
    #expect(Set(fired) == Set(alerts))
  }
}
