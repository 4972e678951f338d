import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct HostSetCommand: HaulCommand {
  static let name = "set"
  static let role: PoolRole? = .admin
  static let abstract = "Set how many transfers a host may have, and how often one may start."
  static let discussion = """
    The limits apply to the whole pool and to transfers that start from now on. If you lower the transfer \
    limit, running transfers continue. If several patterns match a host, an exact name wins, then the \
    longest suffix. Without a match the transfer limit is 4, with no start interval.

    If a host answers 429, or 503 with Retry-After, Haul halves its transfer limit. For every 20 completed \
    jobs it raises the limit by one, up to the limit that you set.
    """
  static let examples = [
    Example("haul host set example.org --cap 2", "Allows two transfers at once from example.org."),
    Example(
      "haul host set '*.example.org' --cap 8",
      "Allows eight transfers at once from each host below example.org."),
    Example(
      "haul host set example.org --interval 500ms --burst 3",
      "Allows two starts a second, and three starts at once after a pause."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "cap", "<n>", \.cap, in: 1...10_000,
        "The transfer limit: how many transfers may run at once."),
      .value(
        "interval", "<duration>", \.interval, in: .zero ... .seconds(86_400),
        "The start interval: the shortest time between two starts, such as 500ms. 0 removes it."),
      .value(
        "burst", "<n>", \.burst, in: 1...10_000,
        "How many transfers may start at once after a pause. Later transfers then wait longer to compensate."
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
      throw ExitError(.usage, "nothing to set. Give --cap, --interval or --burst.")
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

  /// Returns a note if a burst has no effect, because the host has no interval.
  private func noteOnBurst(_ queue: JobQueue, _ host: String) async throws -> String? {
    guard let burst, burst > 1 else { return nil }
    let policy = try await queue.policies().first { $0.pattern == host }
    return policy?.interval == 0
      ? "a burst has no effect without an interval. Give --interval too" : nil
  }
}
