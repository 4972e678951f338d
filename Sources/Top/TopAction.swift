package import JobModel
package import JobQueue
import Reports
import Terminal

/// The job of a row in `haul top`, as it was when the row was read.
package struct TopJob: Sendable, Equatable {
  package let id: Int64
  package let path: String
  /// The state of the job; nil if this program does not know the state because the database is newer.
  package let state: JobState?

  package init(_ id: Int64, path: String, state: JobState?) {
    self.id = id
    self.path = path
    self.state = state
  }
}

/// The thing that a row of `haul top` represents.
package enum TopSubject: Sendable, Equatable {
  case job(TopJob)
  case queue(String)
  case host(String)
  /// A worker. `name` is its name in messages, and `running` is the number of its running jobs.
  case worker(Int64, name: String, running: Int)
  case batch(String)
  /// The jobs of one host that failed with one error class.
  case failures(error: ErrorClass, host: String)

  /// The name of the subject for a question to the user.
  package var name: String {
    switch self {
    case .job(let job): "job \(job.id) (\(job.path))"
    case .queue(let name): "queue \(name)"
    case .host(let name): "host \(name)"
    case .worker(_, let name, _): name
    case .batch(let name): "batch \(name)"
    case .failures(let error, let host): "\(error) on \(host)"
    }
  }

  /// The selector of the subject's jobs, for actions on these jobs. Nil for a worker, because a selector cannot select jobs by
  /// worker.
  package var jobs: JobSelector? {
    var selector = JobSelector()
    switch self {
    case .job(let job): selector.ids = [job.id]
    case .queue(let name): selector.queue = name
    case .host(let name): selector.host = name
    case .worker: return nil
    case .batch(let name): selector.batch = name
    case .failures(let error, let host):
      selector.host = host
      selector.error = error
    }
    return selector
  }
}

/// An action of an operator on a row of `haul top`.
package struct TopAction: Sendable, Equatable {
  /// The effect of a key on a row.
  package enum Meaning: Sendable, Equatable {
    case action(TopAction)
    /// The key has no effect on this row. The text says on which rows the key has an effect.
    case hint(String)
  }

  /// An action that a key starts. The raw value is the key.
  package enum Verb: Character, Sendable {
    case pause = "p"
    case resume = "u"
    case cancel = "c"
    case retry = "r"
    case drain = "d"
    /// The action checks a finished file against its recorded length and digest.
    case verify = "v"
    case sooner = "+"
    case later = "-"
  }

  package let verb: Verb
  package let subject: TopSubject

  /// Returns the effect of `verb` on a row.
  package static func meaning(of verb: Verb, for subject: TopSubject) -> Meaning {
    switch (verb, subject) {
    case (.drain, .worker): .action(Self(verb: verb, subject: subject))
    case (.drain, _): .hint("d drains a worker. Press 4 and choose one")
    case (_, .worker): .hint("Workers can only be drained (d).")
    case (_, .job(let job)):
      refusal(of: verb, job).map(Meaning.hint) ?? .action(Self(verb: verb, subject: subject))
    case (.sooner, _), (.later, _):
      .hint("+ and - change the priority of a job. Press 7 and choose one")
    case (.verify, _): .hint("v verifies the file of a completed job. Press 7 and choose one")
    case (.retry, _): .action(Self(verb: verb, subject: subject))
    case (_, .failures): .hint("Failed jobs can only be retried (r).")
    default: .action(Self(verb: verb, subject: subject))
    }
  }

  /// Returns why `verb` has no effect on a job in this state; nil if it has an effect.
  private static func refusal(of verb: Verb, _ job: TopJob) -> String? {
    let states = verb.states
    guard let state = job.state, !states.contains(state) else { return nil }
    let words = states.map(\.rawValue)
    let list = [words.dropLast().joined(separator: ", "), words.last ?? ""]
      .filter { !$0.isEmpty }.joined(separator: " and ")
    return "job \(job.id) is \(state), but \(verb.rawValue) works only on \(list) jobs"
  }

  /// The question to ask before an action that destroys work or interrupts downloads. Nil if the action needs no confirmation.
  package var question: String? {
    switch (verb, subject) {
    case (.drain, .worker(_, let name, let running)):
      "Drain \(name)? It stops and hands over \(counted(running, "running job"))."
    case (.cancel, .job): "Cancel \(subject.name)?"
    case (.cancel, _): "Cancel all jobs of \(subject.name) that have not ended?"
    case (.retry, .job): nil
    case (.retry, .failures): "Retry all jobs that failed with \(subject.name)?"
    case (.retry, _): "Retry all jobs of \(subject.name) that failed?"
    default: nil
    }
  }

  /// The database role with the fewest rights that may perform the action.
  package var role: PoolRole {
    switch (verb, subject) {
    case (.drain, _), (.pause, .queue), (.resume, .queue), (.pause, .host), (.resume, .host): .admin
    case (.verify, _): .monitor
    default: .submitter
    }
  }

  /// A function that checks the file of a completed job against its recorded length and digest. It returns a sentence that says
  /// that the file is correct.
  ///
  /// It throws if the file is wrong or cannot be read on this machine.
  package typealias Verify = @Sendable (JobQueue, _ job: Int64) async throws -> String

  /// Performs the action and returns the result as a sentence. `onStep` receives the number of jobs changed so far.
  package func perform(
    on queue: JobQueue, verify: Verify, onStep: (Int) -> Void
  ) async throws -> String {
    switch (verb, subject) {
    case (.verify, .job(let job)): return try await verify(queue, job.id)
    case (.drain, .worker(let worker, let name, _)):
      return try await queue.drainWorker(worker) ? "\(name) is draining" : "\(name) is not running"
    case (.pause, .queue(let name)), (.resume, .queue(let name)):
      var settings = QueueSettings()
      settings.paused = verb == .pause
      try await queue.setQueue(name, settings)
      return verb == .pause
        ? "queue \(name) is paused; running jobs continue" : "queue \(name) is resumed"
    case (.pause, .host(let name)):
      try await queue.blockHost(name, for: nil)
      return "\(name): blocked until you unblock it"
    case (.resume, .host(let name)):
      try await queue.unblockHost(name)
      return "\(name) is unblocked"
    case (.sooner, _), (.later, _): return try await prioritize(queue)
    default: return try await control(queue, onStep)
    }
  }

  /// Changes a job's priority by one from its current priority.
  private func prioritize(_ queue: JobQueue) async throws -> String {
    guard let selector = subject.jobs, let row = try await queue.jobs(selector, limit: 1).first
    else { return "\(subject.name): no job to prioritize" }
    let priority = min(max(row.priority + (verb == .sooner ? -1 : 1), 0), 9)
    if priority == row.priority {
      return
        "job \(row.job) already has priority \(priority), the \(priority == 0 ? "highest" : "lowest")"
    }
    let count = try await queue.prioritize(selector, to: priority)
    return count == 0
      ? "job \(row.job) is \(row.state?.rawValue ?? "unknown"); nothing was changed"
      : "job \(row.job) has priority \(priority) (0 is first, 9 is last)"
  }

  private func control(_ queue: JobQueue, _ onStep: (Int) -> Void) async throws -> String {
    guard var selector = subject.jobs, let action else { return "" }
    // A job selected by id may also be retried if it was cancelled or is waiting for its next attempt.
    if verb == .retry, selector.ids == nil { selector.state = .failed }
    let count = try await queue.control(action, selector, onStep: onStep)
    switch (verb, subject) {
    case _ where count == 0:
      let states = try await queue.jobs(selector, limit: JobAction.looked)
        .compactMap(\.state)
      return states.isEmpty
        ? "\(subject.name): no job to \(action.rawValue)"
        : action.futility(states, isCut: states.count == JobAction.looked)
    case (.pause, .job(let job)): return "job \(job.id) is paused; press u in list 7 to resume it"
    default: return "\(counted(count, "job")) \(participle)"
    }
  }

  private var action: JobAction? {
    switch verb {
    case .pause: .pause
    case .resume: .resume
    case .cancel: .cancel
    case .retry: .retry
    case .drain, .verify, .sooner, .later: nil
    }
  }

  /// The participle for the changed jobs, such as `paused`.
  package var participle: String {
    if let action { return action.participle }
    return switch verb {
    case .drain: "drained"
    case .verify: "verified"
    default: "prioritized"
    }
  }
}

extension TopAction.Verb {
  /// Whether the action stops jobs or keeps them from starting. If the row under the cursor has just changed, such an action
  /// needs a second key press, because the user may mean the earlier row.
  var isDestructive: Bool { self == .cancel || self == .pause }

  /// The states of jobs on which the verb has an effect.
  fileprivate var states: [JobState] {
    switch self {
    case .pause: JobAction.pause.states(byID: true)
    // A pause requested for a running job can be cancelled.
    case .resume: JobAction.resume.states(byID: true) + [.running]
    case .retry: JobAction.retry.states(byID: true)
    case .cancel, .sooner, .later: JobAction.live
    case .verify: [.completed]
    case .drain: []
    }
  }
}
