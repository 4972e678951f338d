import Arguments
import HaulTransfer
import JobQueue
import Stores

/// Checks the files of a selection against their records, page by page.
struct VerifyRun {
  /// The number of jobs to read from the database with one query.
  private static let page = 1000

  let queue: JobQueue
  let selection: FileSelection
  /// Whether to queue the jobs of missing and damaged files again.
  let requeues: Bool
  let found: VerifyStores
  /// Whether a file of a job selected by id counts as missing if it is not on this machine, even if another machine has a disk
  /// of the store.
  var countsAbsentAsMissing = true
  /// The display of the progress; nil for none.
  let progress: VerifyProgress?
  var tally = VerifyTally()

  /// Checks all files. With `countsFirst`, counts them first, for the progress.
  mutating func compare(countsFirst: Bool) async throws {
    if countsFirst {
      let total = try await queue.fileTotals(selection, in: found.names)
      progress?.show { $0.begin(total, at: .now) }
    }
    let queues = Set(try await queue.queues().map(\.queue))
    var before = Int64.max
    while true {
      let files = try await queue.finishedFiles(selection, before: before, limit: Self.page)
      guard let last = files.last else { return }
      before = last.job
      for file in files { try await compare(file, queues) }
    }
  }

  /// Checks the file of one completed job against its record. Returns a sentence that says that the file is correct.
  /// - Throws: an error if the file is wrong or not in a store on this machine.
  static func verify(job: Int64, in queue: JobQueue) async throws -> String {
    var selector = JobSelector()
    selector.ids = [job]
    var run = VerifyRun(
      queue: queue, selection: FileSelection(selector), requeues: false,
      found: try VerifyStores([], among: try await queue.stores()), progress: nil)
    run.countsAbsentAsMissing = false
    try await run.compare(countsFirst: false)
    if let fault = run.tally.faults.first {
      throw ExitError(.failed, "job \(job): \(fault.fault)")
    }
    if run.tally.elsewhere > 0 {
      throw ExitError(
        .failed,
        "job \(job): the file is not on this machine. It may be on another machine that has a disk of the same store"
      )
    }
    guard run.tally.looked > 0 else {
      throw ExitError(
        .failed,
        run.tally.others.isEmpty
          ? "job \(job) no longer has a finished file"
          : "job \(job): the store of this job is not on this machine")
    }
    return "job \(job): the file matches its record, compared by "
      + (run.tally.byDigest > 0 ? "digest" : "length only")
  }

  /// Compares a file. `queues` are the names of the existing queues.
  private mutating func compare(_ file: FinishedFile, _ queues: Set<String>) async throws {
    let verifiers = found.verifiers(of: file.store)
    if verifiers.isEmpty { return tally.addOther(file.store) }
    guard let path = try? RelativePath(file.path) else {
      return tally.add(
        file, .unreadable("\(file.path) is not a path in a store"), mayBeElsewhere: false)
    }
    let digest = file.digest.flatMap { ExpectedDigest(spelled: $0) }
    let (verdict, verifier) = await verdict(verifiers, path, file.bytes, digest)
    let mayBeElsewhere =
      (selection.jobs.ids == nil || !countsAbsentAsMissing) && found.isIncomplete(file.store)
    tally.add(file, verdict, mayBeElsewhere: mayBeElsewhere)
    progress?.show { [faults = tally.faults.count] pace in
      pace.end(bytes: digest == nil ? 0 : file.bytes, faults: faults, at: .now)
    }
    guard requeues, verdict.isDamaged, tally.faults.last?.number == file.job else { return }
    guard queues.contains(file.queue) else {
      tally.queueless += 1
      return
    }
    do {
      try await verifier.setAside(path)
    } catch {
      tally.addFault("\(error.message), so the job is not queued again")
      return
    }
    tally.requeued += try await queue.redo([file.job])
  }

  /// Compares a file in the directories of its store. The first directory that has the file counts.
  private func verdict(
    _ verifiers: [FileVerifier], _ path: RelativePath, _ length: Int64, _ digest: ExpectedDigest?
  ) async -> (FileVerifier.Verdict, FileVerifier) {
    for verifier in verifiers.dropLast() {
      let verdict = await look(verifier, path, length, digest)
      if verdict != .missing { return (verdict, verifier) }
    }
    let last = verifiers[verifiers.count - 1]
    return (await look(last, path, length, digest), last)
  }

  private func look(
    _ verifier: FileVerifier, _ path: RelativePath, _ length: Int64, _ digest: ExpectedDigest?
  ) async -> FileVerifier.Verdict {
    await verifier.look(at: path, length: length, digest: digest) { [progress] bytes in
      progress?.show { $0.read(bytes, at: .now) }
    }
  }
}
