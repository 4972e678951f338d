package import JobModel
package import JobQueue
import Reports
import Terminal

/// What a row of `haul top` stands for.
package enum TopSubject: Sendable, Equatable {
  case job(Int64, path: String)
  case queue(String)
  case host(String)
  /// `name` as messages have it, with how many jobs it holds.
  case worker(Int64, name: String, running: Int)
  case batch(String)
  /// All jobs of a host that failed with a class of error.
  case failures(error: ErrorClass, host: String)

  /// The target's name in a question.
  package var name: String {
    switch self {
    case .job(let job, let path): "job \(job) (\(path))"
    case .queue(let name): "queue \(name)"
    case .host(let name): "host \(name)"
    case .worker(_, let name, _): name
    case .batch(let name): "batch \(name)"
    case .failures(let error, let host): "\(error) of \(host)"
    }
  }

  /// The target's jobs, as other commands select them; nil for a worker, whose jobs cannot be steered.
  package var jobs: JobSelector? {
    var selector = JobSelector()
    switch self {
    case .job(let job, _): selector.ids = [job]
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

/// What an operator does to a row of `haul top`.
package struct TopAction: Sendable, Equatable {
  /// What a key means for a row.
  package enum Meaning: Sendable, Equatable {
    case action(TopAction)
    /// Nothing; where that key does something.
    case hint(String)
  }

  /// The raw value is its key.
  package enum Verb: Character, Sendable {
    case pause = "p"
    case resume = "u"
    case cancel = "c"
    case retry = "r"
    case drain = "d"
  }

  package let verb: Verb
  package let subject: TopSubject

  /// What `verb` means for that row.
  package static func meaning(of verb: Verb, for subject: TopSubject) -> Meaning {
    switch (verb, subject) {
    case (.drain, .worker): .action(Self(verb: verb, subject: subject))
    case (.drain, _): .hint("d drains a worker: press 4 and choose one")
    case (_, .worker): .hint("of a worker nothing but d, to drain it, is known")
    case (.retry, .job):
      .hint("a running job is not to be retried; r is for failures, batches, queues and hosts")
    case (.retry, _): .action(Self(verb: verb, subject: subject))
    case (_, .failures): .hint("jobs that have failed can only be retried: r")
    default: .action(Self(verb: verb, subject: subject))
    }
  }

  /// What is asked before, where something is destroyed or handed over; nil where it is done at once.
  package var question: String? {
    switch (verb, subject) {
    case (.drain, .worker(_, let name, let running)):
      "Drain \(name)? It stops and hands over \(counted(running, "running job"))."
    case (.cancel, .job): "Cancel \(subject.name)?"
    case (.cancel, _): "Cancel all jobs of \(subject.name) that have not ended?"
    case (.retry, .failures): "Retry all jobs that failed with \(subject.name)?"
    case (.retry, _): "Retry all jobs of \(subject.name) that failed?"
    default: nil
    }
  }

  /// The least role that may do it.
  package var role: PoolRole {
    switch (verb, subject) {
    case (.drain, _), (.pause, .queue), (.resume, .queue), (.pause, .host), (.resume, .host): .admin
    default: .submitter
    }
  }

  /// Does it, and says what has become of it. `onStep` is told how many jobs it was so far.
  package func perform(on queue: JobQueue, onStep: (Int) -> Void) async throws -> String {
    switch (verb, subject) {
    case (.drain, .worker(let worker, let name, _)):
      return try await queue.drainWorker(worker) ? "\(name) drains" : "\(name) is not running"
    case (.pause, .queue(let name)), (.resume, .queue(let name)):
      var settings = QueueSettings()
      settings.paused = verb == .pause
      try await queue.setQueue(name, settings)
      return verb == .pause
        ? "queue \(name) is paused; what runs runs on" : "queue \(name) goes on"
    case (.pause, .host(let name)):
      try await queue.blockHost(name, for: nil)
      return "\(name): nothing starts until it is unblocked"
    case (.resume, .host(let name)):
      try await queue.unblockHost(name)
      return "\(name) is unblocked"
    default: return try await control(queue, onStep)
    }
  }

  private func control(_ queue: JobQueue, _ onStep: (Int) -> Void) async throws -> String {
    guard var selector = subject.jobs, let action else { return "" }
    if verb == .retry { selector.state = .failed }
    let count = try await queue.control(action, selector, onStep: onStep)
    switch (verb, subject) {
    case _ where count == 0:
      let states = try await queue.jobs(selector, limit: JobAction.looked)
        .compactMap(\.state)
      return states.isEmpty
        ? "\(subject.name): no job to \(action.rawValue) is there"
        : action.futility(states, isCut: states.count == JobAction.looked)
    // It is on no list from now on.
    case (.pause, .job(let id, _)): return "job \(id) is paused; 'haul resume \(id)' lets it go on"
    default: return "\(counted(count, "job")) \(participle)"
    }
  }

  private var action: JobAction? {
    switch verb {
    case .pause: .pause
    case .resume: .resume
    case .cancel: .cancel
    case .retry: .retry
    case .drain: nil
    }
  }

  /// What happens to jobs, as the commands say it.
  package var participle: String { action?.participle ?? "drained" }
}
