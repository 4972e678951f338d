import HaulSystem
package import JobQueue
package import Terminal

/// One thing that keeps jobs from being started, as `haul why` tells it.
package struct Cause: Sendable, Equatable {
  package let kind: Obstacle.Kind
  /// How many of the jobs that were looked at it concerns.
  package let jobs: Int
  package let finding: Obstacle.Finding

  /// A cause as given.
  package init(_ kind: Obstacle.Kind, jobs: Int, _ finding: Obstacle.Finding) {
    self.kind = kind
    self.jobs = jobs
    self.finding = finding
  }

  /// For programs.
  package var members: [JSONValue.Member] {
    [
      .init("kind", .string(kind.rawValue)), .init("jobs", .number(jobs)),
      .init("sentence", .string(finding.causeSentence)), .init("command", .text(finding.command)),
    ]
  }

  /// `12 jobs: The queue films is paused. Resume it with: haul queue resume films`
  package var line: String {
    "\(counted(jobs, "job")): \(SafeText.visible(finding.wholeSentence))"
  }
}

/// The jobs that a user asks about, and what else is known of them.
package struct AskedJobs: Sendable {
  package var selector: JobSelector
  /// The arguments that select the same jobs for another command; empty for all jobs.
  package var words: String
  /// The number of these jobs that run, by host and by queue.
  package var runningOnHost: [String: Int] = [:]
  package var runningInQueue: [String: Int] = [:]
  /// Batches with paused jobs and with jobs that are not paused.
  package var partlyPaused: Set<String> = []

  /// Jobs without further information.
  package init(_ selector: JobSelector, words: String) {
    self.selector = selector
    self.words = words
  }

  /// What keeps these jobs, in the order in which the database lists it.
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

  /// Jobs that wait for their own time behind a block that ends by itself are shown with their next try.
  static func isTold(_ obstacle: Obstacle) -> Bool {
    obstacle.kind != .blocked || obstacle.seconds == nil || obstacle.due != 0
  }

  private var isOnlyHost: Bool { whose == nil || selector.host != nil && selector.batch == nil }
  private var isOnlyQueue: Bool { whose == nil || selector.queue != nil && selector.batch == nil }

  /// Such as `this batch`; nil for all jobs.
  private var whose: String? {
    if let ids = selector.ids { return ids.count == 1 ? "this job" : "these jobs" }
    if selector.batch != nil { return "this batch" }
    if selector.queue != nil { return "this queue" }
    return selector.host == nil ? nil : "this host"
  }

  /// The command resumes only the jobs that were asked about. Jobs that were paused by id are only listed.
  private func paused(_ obstacle: Obstacle, isAlone: Bool) -> Obstacle.Finding {
    let list = "--state paused" + (words.isEmpty ? "" : " \(words)")
    if selector.ids != nil {
      return obstacle.jobs == 1
        ? .init("it is paused", "resume it with", "haul resume \(words)")
        : .init("they are paused", "resume them with", "haul resume \(words)")
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
        "a part of the batch \(obstacle.name) is paused", "list it with",
        "haul jobs --state paused --batch \(batch)\(others)")
    }
    return .init(
      others.isEmpty
        ? "the batch \(obstacle.name) is paused"
        : "these jobs of the batch \(obstacle.name) are paused",
      others.isEmpty ? "resume it with" : "resume them with",
      "haul resume --batch \(batch)\(others)")
  }
}
