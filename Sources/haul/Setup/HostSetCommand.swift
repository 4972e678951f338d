import Arguments
import HaulSystem
import JobModel
import JobQueue
import Reports
import Terminal

struct HostSetCommand: HaulCommand {
  static let name = "set"
  static let role: PoolRole? = .admin
  static let abstract =
    "Set how many transfers a host may have at the same time, and how often a transfer may start."
  static let discussion = """
    The limits apply to the whole pool and to transfers that start from now on. --concurrency of each worker \
    also applies. If you lower the transfer limit, running transfers continue. If several patterns match \
    a host, an exact name wins. Otherwise the pattern with the longest suffix wins. Without a match the \
    transfer limit is 4, with no start interval.

    If a host answers 429, or 503 with Retry-After, Haul halves the transfer limit of this host. For every 20 \
    completed jobs, Haul raises the limit by one, up to the limit that you set.
    """
  static let examples = [
    Example(
      "haul host set example.org --cap 2",
      "Allows two transfers at the same time from example.org."),
    Example(
      "haul host set '*.example.org' --cap 8",
      "Allows eight transfers at the same time from each host below example.org."),
    Example(
      "haul host set example.org --interval 500ms --burst 3",
      "Allows two starts per second, and up to three starts together after a time without starts."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "cap", "<n>", \.cap, in: 1...10_000,
        "The transfer limit: how many transfers may run at the same time."),
      .value(
        "interval", "<duration>", \.interval, in: .zero ... .seconds(86_400),
        "The start interval: the shortest time between two starts, such as 500ms. 0 removes the interval."
      ),
      .value(
        "burst", "<n>", \.burst, in: 1...10_000,
        "How many transfers may start together after a time without starts. Later transfers then wait longer to compensate."
      ),
    ] + group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required(
      "name", \.host,
      "A host such as example.org or example.org:8443, or a pattern: '*.suffix' or '*'."
    )
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
      let areSet = try await queue.setHost(host, cap: cap, interval: interval, burst: burst)
      return [
        areSet ? nil : Self.laterNote,
        try await queue.note(onHost: host, undo: "haul host unset"),
        try await noteOnBurst(queue, host),
      ]
    }
    let parts = [
      cap.map { "at most \(counted($0, "transfer")) at the same time" },
      interval.map { $0 == .zero ? "no start interval" : "\($0.argument) between starts" },
      burst.map { "up to \(counted($0, "start")) together after a time without starts" },
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

  /// The note if another session has locked some of the hosts, or changes limits too.
  static let laterNote =
    "some hosts get their limits later, from a worker or coordinator"

  /// Returns a note if a burst has no effect, because the host has no interval; otherwise nil.
  private func noteOnBurst(_ queue: JobQueue, _ host: String) async throws -> String? {
    guard let burst, burst > 1 else { return nil }
    let policy = try await queue.policies().first { $0.pattern == host }
    return policy?.interval == 0
      ? "a burst has no effect without an interval. Give --interval too" : nil
  }
}
