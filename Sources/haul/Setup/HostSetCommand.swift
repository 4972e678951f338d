import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct HostSetCommand: HaulCommand {
  static let name = "set"
  static let role: PoolRole? = .admin
  static let abstract = "Set how many transfers a host may see, and how often one may start."
  static let discussion = """
    Holds for the whole pool and for starts from now on; what runs above a lower cap is left to end. \
    An exact name goes before the longest suffix that fits, that before the cap of 4 and no interval \
    that any host has. A host that answers 429, or 503 with Retry-After, gets half of its cap, and one \
    transfer more for every 20 jobs that complete, up to its cap again.
    """
  static let examples = [
    Example("haul host set example.org --cap 2", "At most two transfers from example.org."),
    Example("haul host set '*.example.org' --cap 8", "Eight from each host below example.org."),
    Example(
      "haul host set example.org --interval 500ms --burst 3",
      "Two starts a second; after a pause three at once."),
  ]
  static let options: [Option<Self>] =
    [
      .value("cap", "<n>", \.cap, in: 1...10_000, "Transfers at once."),
      .value(
        "interval", "<duration>", \.interval, in: .zero ... .seconds(86_400),
        "The least time between two starts: 500ms, 2s, 1m; 0 takes it away."),
      .value(
        "burst", "<n>", \.burst, in: 1...10_000,
        "Starts that may follow each other at once after a pause, which the interval then makes up for."
      ),
    ] + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.host, "A host such as example.org or example.org:8443, '*.suffix' or '*'.")
      .from(.names("host"))
  ]

  var host = HostArgument.unset
  var cap: Int?
  var interval: Duration?
  var burst: Int?
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    guard cap != nil || interval != nil || burst != nil else {
      throw ExitError(.usage, "nothing to set: give --cap, --interval or --burst.")
    }
    let host = host.argument
    let notes = try await database.writing.withQueue { queue in
      try await queue.setHost(host, cap: cap, interval: interval, burst: burst)
      return [
        try await queue.note(onHost: host, undo: "haul host unset"),
        try await noteOnBurst(queue, host),
      ]
    }
    let parts = [
      cap.map { "at most \(counted($0, "transfer")) at once" },
      interval.map { $0 == .zero ? "no interval" : "\($0.argument) between starts" },
      burst.map { "\(counted($0, "start")) at once after a pause" },
    ]
    try output.print(
      [
        .init("host", .string(host)), .init("cap", .number(cap)),
        .init("min_interval", interval.map { .double($0 / .seconds(1)) } ?? .null),
        .init("burst", .number(burst)),
      ],
      orSay: "\(host): \(parts.compactMap { $0 }.joined(separator: ", "))")
    for case let note? in notes { StandardStream.say("haul host set: \(note)\n") }
  }

  /// Nothing makes a burst's starts wait where there is no interval, set now or before.
  private func noteOnBurst(_ queue: JobQueue, _ host: String) async throws -> String? {
    guard let burst, burst > 1 else { return nil }
    let policy = try await queue.policies().first { $0.pattern == host }
    return policy?.interval == 0
      ? "a burst counts once there is an interval: give --interval too" : nil
  }
}
