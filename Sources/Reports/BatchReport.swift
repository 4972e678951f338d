import Arguments
import JobModel
package import JobQueue
package import Terminal

/// The results of the jobs that a command waited for. For each batch, the report has one failed job of each error class as an
/// example.
package struct BatchReport: Sendable {
  private struct Batch: Sendable {
    let name: String
    let tally: Tally

    var members: [JSONValue.Member] {
      [
        .init("batch", .string(name)), .init("completed", .number(tally.completed)),
        .init("failed", .number(tally.failed)), .init("cancelled", .number(tally.cancelled)),
        .init("bytes", .number(tally.bytes)),
        .init("errors", .object(tally.classes.map { .init($0.name, .number($0.jobs)) })),
      ]
    }
  }

  private let batches: [Batch]
  /// The totals of all batches.
  private let tally: Tally
  private let examples: [FailureExample]

  /// Reads the report from the database. Reads single jobs only if some jobs failed. Jobs without a batch are reported with the
  /// first batch.
  package init(of jobs: AwaitedJobs, from queue: JobQueue) async throws {
    var batches: [Batch] = []
    var all: [JobCount] = []
    for (index, name) in jobs.batches.enumerated() {
      let part = AwaitedJobs(batches: [name], others: index == 0 ? jobs.others : [])
      var counts = try await queue.counts(of: part)
      if counts.contains(where: { $0.state == .failed }) {
        counts.removeAll { $0.state == .failed }
        counts += try await queue.failures(of: part)
      }
      batches.append(Batch(name: name, tally: Tally(counts)))
      all += counts
    }
    self.batches = batches
    tally = Tally(all)
    examples = tally.failed > 0 ? try await queue.failureExamples(of: jobs) : []
  }

  /// Prints the report. `selector` is the option that selects all jobs of the report in another command; nil if there is no
  /// such option.
  /// - Throws: `ExitError` with code 1 if jobs failed or were cancelled and `isJudge` is true.
  package func tell(
    label: String, selector: String?, print: ([JSONValue.Member], String) throws -> Void,
    _ display: ProgressDisplay,
    isJudge: Bool
  ) throws {
    for batch in batches {
      let lead = batches.count == 1 ? "" : "\(batch.name): "
      try print(batch.members, lead + batch.tally.completion)
    }
    for example in examples {
      display.say(example.path, as: .error) {
        "\(label): \(example.error?.rawValue ?? "unknown"): \($0): \(example.message ?? "no message")"
      }
    }
    guard tally.failed + tally.cancelled > 0 else { return }
    let state: JobState = tally.failed > 0 ? .failed : .cancelled
    let selector = selector.map { "\($0) --state \(state)" } ?? "--state \(state)"
    let sentence = "\(tally.failures) List them with: haul jobs \(selector)"
    if isJudge { throw ExitError(.failed, sentence) }
    display.say("\(label): \(sentence)", as: .error)
  }
}

extension Tally {
  /// The sentence about the completed jobs, such as `completed 3 jobs, 8.0 MiB`.
  fileprivate var completion: String {
    ended == 0 && pending == 0
      ? "\(BatchRow.noJobs): \(BatchRow.whereJobsAre)"
      : "completed \(counted(completed, "job")), \(HumanFormat.bytes(bytes))"
  }
}
