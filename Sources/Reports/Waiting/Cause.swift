import HaulSystem
package import JobQueue
package import Terminal

/// A reason why jobs do not start, as `haul why` shows it.
package struct Cause: Sendable, Equatable {
  package let kind: Obstacle.Kind
  /// The number of examined jobs that this reason affects.
  package let jobs: Int
  package let finding: Obstacle.Finding

  /// Creates the reason.
  package init(_ kind: Obstacle.Kind, jobs: Int, _ finding: Obstacle.Finding) {
    self.kind = kind
    self.jobs = jobs
    self.finding = finding
  }

  /// The reason as members of a JSON object.
  package var members: [JSONValue.Member] {
    [
      .init("kind", .string(kind.rawValue)), .init("jobs", .number(jobs)),
      .init("sentence", .string(finding.causeSentence)), .init("command", .text(finding.command)),
    ]
  }

  /// The reason as a line for people, such as `12 jobs: The queue films is paused. Resume it with: haul queue resume films`.
  package var line: String {
    "\(counted(jobs, "job")): \(SafeText.visible(finding.wholeSentence))"
  }
}

/// The jobs that a user asks about in `haul why`, with further information about them.
package struct AskedJobs: Sendable {
  package var selector: JobSelector
  /// The arguments that select the jobs in another command; empty for all jobs.
  package var words: String
  /// For each host, how many of the jobs that the user asks about are running. ``runningInQueue`` has the same for each queue.
  package var runningOnHost: [String: Int] = [:]
  package var runningInQueue: [String: Int] = [:]
  /// The names of batches that have both paused and other jobs.
  package var partlyPaused: Set<String> = []

  /// Creates the description of the jobs that `selector` selects, without further information.
  package init(_ selector: JobSelector, words: String) {
    self.selector = selector
    self.words = words
  }

  /// Returns the reasons why the jobs do not start, in the order of `found`.
  package func causes(_ found: [Obstacle]) -> [Cause] {
    let held = found.filter { $0.kind == .held }
    return found.filter(Self.isTold).map { obstacle in
      let finding =
        switch obstacle.kind {
        case .held: paused(obstacle, isAlone: held.allSatisfy { $0.name.isEmpty })
        case .full:
          obstacle.finding(
            of: words, own: runningOnHost[obstacle.name] ?? 0, whose: isOnlyHost ? nil : whose)
        case .limited:
          obstacle.finding(
            of: words, own: runningInQueue[obstacle.name] ?? 0, whose: isOnlyQueue ? nil : whose)
        default: obstacle.finding(of: words)
        }
      return Cause(obstacle.kind, jobs: obstacle.jobs ?? 0, finding)
    }
  }

  /// Returns whether to show an obstacle. A temporary block is hidden if all jobs of the host wait for their own start times,
  /// because another cause shows their next attempt.
  static func isTold(_ obstacle: Obstacle) -> Bool {
    obstacle.kind != .blocked || obstacle.seconds == nil || obstacle.due != 0
  }

  private var isOnlyHost: Bool { whose == nil || selector.host != nil && selector.batch == nil }
  private var isOnlyQueue: Bool { whose == nil || selector.queue != nil && selector.batch == nil }

  /// The jobs in words such as `this batch`; nil for all jobs.
  private var whose: String? {
    if let ids = selector.ids { return ids.count == 1 ? "this job" : "these jobs" }
    if selector.batch != nil { return "this batch" }
    if selector.queue != nil { return "this queue" }
    return selector.host == nil ? nil : "this host"
  }

  /// Returns the finding for paused jobs. The command of the finding resumes only jobs that the user asked about, or lists
  /// paused jobs.
  private func paused(_ obstacle: Obstacle, isAlone: Bool) -> Obstacle.Finding {
    let list = "--state paused" + (words.isEmpty ? "" : " \(words)")
    if selector.ids != nil {
      return obstacle.jobs == 1
        ? .init("this job is paused", "resume it with", "haul resume \(words)")
        : .init("these jobs are paused", "resume them with", "haul resume \(words)")
    }
    if obstacle.name.isEmpty {
      let cause = "jobs without a batch are paused"
      return isAlone
        ? .init(
          cause, "resume them with", "haul resume \(words.isEmpty ? "--state paused" : words)")
        : .init(cause, "list paused jobs with", "haul jobs \(list)")
    }
    let batch = shellWord(obstacle.name)
    var others = ""
    if let queue = selector.queue { others += " --queue \(shellWord(queue))" }
    if let host = selector.host { others += " --host \(shellWord(host))" }
    if partlyPaused.contains(obstacle.name) {
      return .init(
        "some jobs of the batch \(obstacle.name) are paused. List them with 'haul jobs --state paused --batch \(batch)\(others)'",
        "resume them with", "haul resume --batch \(batch)\(others)")
    }
    return .init(
      others.isEmpty
        ? "the batch \(obstacle.name) is paused"
        : "these jobs of the batch \(obstacle.name) are paused",
      others.isEmpty ? "resume it with" : "resume them with",
      "haul resume --batch \(batch)\(others)")
  }
}
