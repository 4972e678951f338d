/// A text format for metrics.
package enum MetricsFormat: Sendable, CaseIterable {
  /// The format OpenMetrics 1.0, which ends in `# EOF`.
  case openMetrics
  /// The Prometheus text format 0.0.4. The textfile collector of node_exporter reads it too.
  case prometheus

  package var contentType: String {
    switch self {
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
    }
  }

  /// Returns the format that an Accept field prefers (RFC 9110 §12.5.1). Without a preference it is Prometheus's text format.
  static func preferred(accept: String?) -> MetricsFormat {
    var best: (format: MetricsFormat, quality: Double) = (.prometheus, 0)
    for range in (accept ?? "").split(separator: ",") {
      let parts = range.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
      guard let type = parts.first else { continue }
      let quality =
        parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      let format: MetricsFormat? =
        switch type {
        case "application/openmetrics-text":
          parts.contains("version=0.0.1") ? nil : .openMetrics
        case "text/plain", "text/*", "*/*": .prometheus
        default: nil
        }
      if let format, quality > best.quality { best = (format, quality) }
    }
    return best.format
  }

  /// Returns the families as text, each with its help and type. Families without samples are left out.
  func text(_ families: [MetricFamily]) -> String {
    var text = ""
    for family in families where !family.samples.isEmpty {
      let name = described(family)
      text += "# HELP \(name) \(escapedHelp(family.help))\n# TYPE \(name) \(type(family.kind))\n"
      for sample in family.samples { text += line(family.name, sample) }
    }
    return self == .openMetrics ? text + "# EOF\n" : text
  }

  /// Returns the name of a family for its HELP and TYPE lines. In OpenMetrics, this name lacks the ending of the sample names.
  private func described(_ family: MetricFamily) -> String {
    let ending =
      switch family.kind {
      case .gauge: ""
      case .counter: "_total"
      case .info: "_info"
      }
    return self == .openMetrics ? String(family.name.dropLast(ending.count)) : family.name
  }

  private func type(_ kind: MetricFamily.Kind) -> String {
    self == .prometheus && kind == .info ? "gauge" : kind.rawValue
  }

  private func line(_ name: String, _ sample: MetricFamily.Sample) -> String {
    let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
    let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
    return "\(name)\(list) \(Self.number(sample.value))\n"
  }

  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    return Int64(exactly: value).map(String.init) ?? "\(value)"
  }

  /// Returns a label's value with escapes. Both formats escape the same three characters.
  static func escaped(_ text: String) -> String {
    text.replacing(scalars: ["\\": "\\\\", "\n": "\\n", "\"": "\\\""])
  }

  private func escapedHelp(_ text: String) -> String {
    self == .openMetrics
      ? Self.escaped(text) : text.replacing(scalars: ["\\": "\\\\", "\n": "\\n"])
  }
}
