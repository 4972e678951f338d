/// A metric with its samples.
struct MetricFamily: Sendable, Equatable {
  enum Kind: String, Sendable {
    /// A metric whose value goes up and down.
    case gauge
    /// A metric whose value only grows, or restarts at 0. The names of its samples end in `_total`.
    case counter
    /// A metric whose labels carry information. Its value is 1, and its name ends in `_info`.
    case info
  }

  struct Sample: Sendable, Equatable {
    /// The names and values of the labels, in the order of output.
    var labels: [(name: String, value: String)] = []
    var value: Double

    static func == (left: Sample, right: Sample) -> Bool {
      left.value == right.value && left.labels.elementsEqual(right.labels, by: ==)
    }
  }

  /// The name of the family's samples, including their ending: `haul_jobs`, `haul_attempts_total`.
  var name: String
  /// The help text in one or two sentences.
  var help: String
  var samples: [Sample]

  /// The kind, which follows from the ending of the name.
  var kind: Kind {
    if name.hasSuffix("_total") { return .counter }
    return name.hasSuffix("_info") ? .info : .gauge
  }

  /// Creates a family without labels. Without a value it has no sample.
  init(_ name: String, _ help: String, _ value: Double?) {
    self.init(name, help, value.map { [Sample(value: $0)] } ?? [])
  }

  init(_ name: String, _ help: String, _ samples: [Sample]) {
    self.name = name
    self.help = help
    self.samples = samples
  }

  /// Creates a family with one label.
  init(
    _ name: String, _ help: String, by label: String, _ values: [(label: String, value: Double)]
  ) {
    self.init(
      name, help, values.map { Sample(labels: [(label, $0.label)], value: $0.value) })
  }
}
