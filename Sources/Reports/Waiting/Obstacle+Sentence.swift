import HaulSystem
import HaulTransfer
package import JobModel
package import JobQueue
import Terminal
import Worker

extension Obstacle {
  /// A reason why jobs do not start, in words, and what the user can do about it.
  package struct Finding: Sendable, Equatable {
    /// The reason without a full stop at its end, such as `the queue films is paused`. The reason may have several sentences.
    package var cause: String
    /// The words before ``command``, such as `resume it with`; nil if there is no remedy.
    package var remedy: String?
    /// The command to type; nil if no command helps.
    package var command: String?

    /// Creates a finding.
    package init(_ cause: String, _ remedy: String? = nil, _ command: String? = nil) {
      self.cause = cause
      self.remedy = remedy
      self.command = command
    }

    /// The reason and the remedy, such as `the queue films is paused. Resume it with: haul queue resume films`.
    package var sentence: String {
      guard let remedy, let command else { return cause }
      return "\(Self.stopped(cause)) \(Self.capital(remedy)): \(command)"
    }

    /// The reason and the remedy with a capital letter at the start, and with a full stop unless a command ends the text.
    package var wholeSentence: String {
      Self.capital(command == nil ? Self.stopped(cause) : sentence)
    }

    /// The reason with a capital letter and a full stop.
    package var causeSentence: String { Self.capital(Self.stopped(cause)) }

    private static func capital(_ text: String) -> String {
      text.prefix(1).uppercased() + text.dropFirst()
    }

    /// Adds a full stop, unless the text has its own end mark.
    private static func stopped(_ text: String) -> String {
      text.last.map { ".?!".contains($0) } == true ? text : "\(text)."
    }
  }

  /// Returns the reason and the remedy, such as `the host example.org is blocked for 40s (connect)`. `selector` is the option
  /// that selects the waiting jobs in another command; nil if there is none.
  package func sentence(of selector: String?) -> String { finding(of: selector).sentence }

  /// Returns the reason and the remedy without the advice on the error class, for output that already shows that advice.
  package func sentenceWithoutAdvice(of selector: String?) -> String {
    kind == .early ? early(hasAdvice: false).sentence : sentence(of: selector)
  }

  /// Returns the reason and the remedy separately. `whose` names a set of jobs, such as `this batch`. `own` is the number of
  /// running jobs in this set.
  package func finding(of selector: String?, own: Int? = nil, whose: String? = nil) -> Finding {
    let word = shellWord(name)
    switch kind {
    case .silent: return silent
    case .lost: return lost
    case .unheard:
      return Finding(
        "all workers of the queue \(name) have stopped sending heartbeats", "list them with",
        "haul workers")
    case .held: return held(selector)
    case .unserved:
      return Finding("no worker serves the queue \(name)", "start one with", start?.command)
    case .paused:
      return Finding("the queue \(name) is paused", "resume it with", "haul queue resume \(word)")
    case .trouble:
      return Finding(
        "\(name) cannot write to its store: \(reason ?? "unknown")",
        "repair the store, then check the worker with", "haul workers")
    case .blocked: return blocked(word)
    case .full: return full(word, Self.part(own, whose))
    case .interval:
      return Finding(
        reason == nil
          ? "the minimum time between two starts on the host \(name) has not passed"
          : "the minimum time between two starts on the host \(name) lets only some of its jobs start now",
        "shorten this time with",
        "haul host set \(word) --interval TIME")
    case .limited:
      guard let running, let places else {
        return Finding("the queue \(name) already has as many running jobs as its limit allows")
      }
      return Finding(
        "the queue \(name) already has \(running) of \(counted(places, "job")) running\(Self.part(own, whose))",
        "raise the limit with", "haul queue set \(word) --max-running N")
    case .busy:
      let use = running.flatMap { running in
        places.map { " (\(running) of \(counted($0, "transfer")))" }
      }
      return Finding(
        "the workers of the queue \(name) are busy\(use ?? "")", "start another worker with",
        start?.command)
    case .away:
      return Finding(
        "no live worker mounts the directory with the part files of the queue \(name)\(reason.map { " (\($0))" } ?? ""). "
          + "After five minutes other workers download these files again")
    case .early: return early(hasAdvice: true)
    }
  }

  private var silent: Finding {
    let cause = "\(name) has sent no heartbeat for \(wait)"
    guard reason != nil else {
      return Finding(
        "\(cause). Other workers take over these jobs when the leases of the silent worker have expired"
      )
    }
    return Finding(
      "\(cause), and no other worker can take over its jobs",
      "if this worker does not come back, start another worker with", start?.command)
  }

  private var lost: Finding {
    let cause = "the workers that ran these jobs of the queue \(name) are dead"
    guard leaderless == true else {
      return Finding("\(cause). Haul queues these jobs again within seconds")
    }
    return Finding(
      "\(cause), and no worker or coordinator is running to take over the jobs", "start one with",
      start?.command)
  }

  private func held(_ selector: String?) -> Finding {
    if let selector {
      return Finding("all remaining jobs are paused", "resume them with", "haul resume \(selector)")
    }
    if !name.isEmpty {
      return Finding(
        "the batch \(name) is paused", "resume it with", "haul resume --batch \(shellWord(name))")
    }
    return Finding("all remaining jobs are paused", "list them with", "haul jobs --state paused")
  }

  private func blocked(_ word: String) -> Finding {
    let time = seconds == nil ? "" : " for \(wait)"
    let unblock = "haul host unblock \(word)"
    if reason == "operator" {
      return Finding("an operator has blocked the host \(name)\(time)", "unblock it with", unblock)
    }
    let cause = reason.map { " (\($0))" } ?? ""
    // Unblocking does not start jobs that wait for their own start times.
    if due == 0 { return Finding("the host \(name) is blocked\(time)\(cause)") }
    return Finding("the host \(name) is blocked\(time)\(cause)", "try the host now with", unblock)
  }

  private func full(_ word: String, _ part: String) -> Finding {
    guard let running, let places else {
      return Finding(
        "the host \(name) already has as many transfers in progress as its limit allows")
    }
    let use =
      "the host \(name) already has \(running) of \(counted(places, "transfer")) in progress\(part)"
    return switch reason {
    case IdleReason.adaptive.rawValue:
      Finding(
        "\(use). Haul lowered this limit after refusals and raises it again as requests succeed")
    case IdleReason.unanswered.rawValue:
      Finding("\(use). Haul starts more transfers when the host has sent its first byte")
    default: Finding(use, "raise the limit with", "haul host set \(word) --cap N")
    }
  }

  /// Returns a part such as ` (4 of this batch)`.
  private static func part(_ own: Int?, _ whose: String?) -> String {
    guard let own, let whose else { return "" }
    return " (\(own == 0 ? "none" : "\(own)") of \(whose))"
  }

  private func early(hasAdvice: Bool) -> Finding {
    guard let reason else {
      return isDue
        ? Finding("the start time has come\(late)")
        : Finding("the start time has not come. The next start is in \(wait)")
    }
    let error = ErrorClass(rawValue: reason)
    let limit = maxAttempts.map { " of \($0)" } ?? ""
    let isCharged = ErrorTable.isCharged(error)
    let number = isCharged ? attempt.map { " (number \($0)\(limit))" } ?? "" : ""
    let advice = hasAdvice ? ErrorTable.hint(on: error).map { ". \($0)" } ?? "" : ""
    return Finding(
      "the last attempt failed with \(reason). The next attempt\(number) is \(isDue ? "due\(late)" : "in \(wait)")\(isCharged ? "" : patience)\(advice)"
    )
  }

  private var isDue: Bool { seconds.map { $0 <= 0 } ?? false }

  /// Why a job that is due has not started yet.
  private var late: String {
    leaderless == true ? ", but no worker or coordinator is running to start jobs" : ""
  }

  /// How long Haul continues with attempts that do not count.
  private var patience: String {
    let limit = maxAttempts.map { " against the limit of \($0)" } ?? ""
    let end = maxWait.map {
      ". But the job fails if these failures last for \(HumanFormat.duration(.seconds($0)))"
    }
    return ". Failures of the host or of the worker do not count\(limit)\(end ?? "")"
  }

  private var wait: String {
    HumanFormat.duration(.seconds(max(seconds ?? 0, 0).rounded(.up)))
  }
}

extension WorkerStart {
  /// The command that would start this worker on this machine, for messages: `haul worker --store main=DIRECTORY --queue films
  /// --allow-net 10.0.0.1`.
  package var command: String { command(on: PoolWorker.machine) }

  /// Returns the command that would start this worker, for a user of the machine `machine`.
  package func command(on machine: String) -> String {
    "haul worker --store \(shellWord("\(store)=\(directory(on: machine) ?? "DIRECTORY")"))"
      + (queue.map { " --queue \(shellWord($0))" } ?? "") + reach
  }

  /// The options that let the worker download all URLs, each with a space in front: ` --allow-net 10.0.0.1`.
  var reach: String {
    let schemes = schemes ?? []
    let addresses = (hosts ?? []).compactMap(IPAddress.spelled(by:)).filter {
      !AddressPolicy.publicOnly.allows($0)
    }
    let networks = Set(addresses.map(\.description)).sorted().prefix(Self.mostNetworks)
    return schemes.map { " --allow-scheme \($0)" }.joined()
      + (schemes.contains("sftp") ? " --known-hosts FILE" : "")
      + networks.map { " --allow-net \($0)" }.joined()
  }

  /// Returns the only directory of the store on `machine`. If the store has none there, returns its only directory on other
  /// machines. Returns nil if no directory or several directories are possible.
  private func directory(on machine: String) -> String? {
    let roots = roots ?? []
    let here = Set(roots.filter { $0.machine == machine }.map(\.root))
    let all = Set(roots.map(\.root))
    return here.count == 1 ? here.first : here.isEmpty && all.count == 1 ? all.first : nil
  }

  /// The maximum number of networks in the command. Users do not read more in one line.
  private static var mostNetworks: Int { 8 }
}

extension ErrorTable {
  /// Returns whether an attempt that ends with the class `error` counts against the job's maximum number of attempts. Unknown
  /// classes count.
  package static func isCharged(_ error: ErrorClass) -> Bool {
    guard let row = rows.first(where: { $0.word == error }) else { return true }
    return row.explanation.retry != .host && row.explanation.retry != .worker
  }

  /// Returns what the user can do while a job waits for its next attempt: the first sentence of the advice on the error class,
  /// without a full stop. Returns nil if the advice is only about jobs that have finally failed.
  package static func hint(on error: ErrorClass) -> String? {
    guard let advice = advice(on: error) else { return nil }
    let first = advice.split(separator: ". ", maxSplits: 1)[0]
    if first.contains("haul retry") { return nil }
    return String(first.last == "." ? first.dropLast() : first)
  }
}
