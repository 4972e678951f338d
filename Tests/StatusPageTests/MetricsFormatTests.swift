import Testing

@testable import StatusPage

struct MetricsFormatTests {
  private static let families = [
    MetricFamily("haul_up", "Whether it \"answers\",\nor \\ not.", 1),
    MetricFamily(
      "haul_attempts_total", "Attempts.", by: "result", [("failed", 3), ("a\"\\\nb", 0.5)]),
    MetricFamily(
      "haul_build_info", "The version.",
      [MetricFamily.Sample(labels: [("version", "1"), ("commit", "")], value: 1)]),
    MetricFamily("haul_absent", "Nothing is known of it.", nil),
  ]

  @Test func `what any worker may add to makes no series without end`() {
    let values = (1...1000).map { ("class\($0)", Double($0)) }
    let bounded = PoolMetrics.bounded(values)
    #expect(bounded.count == 51 && bounded.first?.0 == "class1000")
    #expect(bounded.last?.0 == "other" && bounded.last?.1 == 950 * 951 / 2)
    let twice = PoolMetrics.bounded(values + [("other", 2000)])
    #expect(twice.count == 50 && twice.filter { $0.0 == "other" }.count == 1)
    #expect(PoolMetrics.bounded(Array(values.prefix(50))).map(\.0) == values.prefix(50).map(\.0))
  }

  @Test func `Prometheus's own text`() {
    #expect(
      MetricsFormat.prometheus.text(Self.families) == #"""
        # HELP haul_up Whether it "answers",\nor \\ not.
        # TYPE haul_up gauge
        haul_up 1
        # HELP haul_attempts_total Attempts.
        # TYPE haul_attempts_total counter
        haul_attempts_total{result="failed"} 3
        haul_attempts_total{result="a\"\\\nb"} 0.5
        # HELP haul_build_info The version.
        # TYPE haul_build_info gauge
        haul_build_info{version="1",commit=""} 1

        """#)
  }

  @Test func `OpenMetrics names families without endings and ends in EOF`() {
    #expect(
      MetricsFormat.openMetrics.text(Self.families) == #"""
        # HELP haul_up Whether it \"answers\",\nor \\ not.
        # TYPE haul_up gauge
        haul_up 1
        # HELP haul_attempts Attempts.
        # TYPE haul_attempts counter
        haul_attempts_total{result="failed"} 3
        haul_attempts_total{result="a\"\\\nb"} 0.5
        # HELP haul_build The version.
        # TYPE haul_build info
        haul_build_info{version="1",commit=""} 1
        # EOF

        """#)
  }

  @Test(
    arguments: [
      (nil, .prometheus), ("", .prometheus), ("*/*", .prometheus), ("text/html", .prometheus),
      ("application/openmetrics-text", .openMetrics),
      ("application/openmetrics-text; version=0.0.1", .prometheus),
      ("text/plain, application/openmetrics-text;q=0.5", .prometheus),
      ("text/plain;q=0.5,application/openmetrics-text;version=1.0.0", .openMetrics),
      ("application/openmetrics-text;q=0", .prometheus),
      // As Prometheus 2.42 asks.
      (
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        .openMetrics
      ),
    ] as [(String?, MetricsFormat)])
  func `the format that is liked best`(accept: String?, format: MetricsFormat) {
    #expect(MetricsFormat.preferred(accept: accept) == format)
  }

  @Test(
    arguments: [
      (0, "0"), (-3, "-3"), (1e15, "1000000000000000"), (0.25, "0.25"), (.nan, "NaN"),
      (.infinity, "+Inf"), (-.infinity, "-Inf"),
    ] as [(Double, String)])
  func `numbers`(value: Double, text: String) {
    #expect(MetricsFormat.number(value) == text)
  }
}
