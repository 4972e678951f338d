import JobModel
import JobQueue
import Stores
import Terminal

/// A finished file that is not what it was, or that cannot be read.
struct FaultyFile: Sendable {
  let job: Int64
  let path: String
  /// What is wrong with it.
  let fault: String

  static let columns: [Listing<FaultyFile>.Column] = [
    .init("JOB", key: "job", .right, value: { .number($0.job) }),
    .init("PATH", key: "path", value: { .string($0.path) }),
    .init("FAULT", key: "fault", value: { .string($0.fault) }, style: { _ in .red }),
  ]
}

/// What has come of a verification so far.
struct VerifyTally: Sendable {
  private(set) var faults: [FaultyFile] = []
  /// Files that are as recorded, digest included.
  private(set) var byDigest = 0
  /// Files that have the recorded length, without a recorded digest.
  private(set) var byLength = 0
  /// Files that are missing or not as recorded.
  private var damaged = 0
  /// Files that cannot be read.
  private var unreadable = 0
  /// Files that may be on another machine.
  private(set) var elsewhere = 0
  /// Files in stores that are not here, by store.
  private(set) var others: [String: Int] = [:]
  /// Jobs that wait again.
  var requeued = 0
  /// Jobs that were to wait again, and whose queue has been deleted.
  var queueless = 0
  /// Jobs that have not completed, by state: their files are not compared.
  var unfinished: [(state: JobState, count: Int)] = []
  /// The part of the files that was chosen, `1%`; nil for all.
  var sample: String?

  mutating func add(_ file: FinishedFile, _ verdict: FileVerifier.Verdict, mayBeElsewhere: Bool) {
    let fault: String
    switch verdict {
    case .right(let hasDigest):
      if hasDigest { byDigest += 1 } else { byLength += 1 }
      return
    case .missing where mayBeElsewhere:
      elsewhere += 1
      return
    case .missing: fault = "missing"
    case .length(let length): fault = "\(length) bytes long, not \(file.bytes)"
    case .digest(let found): fault = "\(found), not \(file.digest ?? "")"
    case .unreadable(let why): fault = "unreadable: \(why)"
    }
    if verdict.isDamaged { damaged += 1 } else { unreadable += 1 }
    faults.append(FaultyFile(job: file.job, path: file.path, fault: fault))
  }

  /// Says more about the last faulty file.
  mutating func addFault(_ fault: String) {
    guard let last = faults.popLast() else { return }
    faults.append(FaultyFile(job: last.job, path: last.path, fault: "\(last.fault); \(fault)"))
  }

  mutating func addOther(_ store: String) { others[store, default: 0] += 1 }

  private var right: Int { byDigest + byLength }
  /// Files that were compared, or found missing.
  var looked: Int { right + damaged }
  private var notCompared: Int { unreadable + elsewhere + others.values.reduce(0, +) }

  /// Why files were not compared, a sentence each, and that there was a sample.
  var notes: [String] {
    var notes = others.sorted { $0.key < $1.key }.map { store, count in
      "did not compare \(counted(count, "file")) of the store \(store), which this machine does not mount. Use --store \(store)=DIRECTORY"
    }
    if elsewhere > 0 {
      notes.append(
        "did not compare \(counted(elsewhere, "file")) that may be on another machine with a disk of the same store"
      )
    }
    if unreadable > 0, damaged > 0 { notes.append("could not read \(counted(unreadable, "file"))") }
    if !unfinished.isEmpty {
      let states = unfinished.map { "\($0.count) \($0.state.rawValue)" }.joined(separator: ", ")
      notes.append("skipped jobs that have not completed: \(states)")
    }
    if let sample { notes.append("compared a random sample of \(sample) of the files") }
    return notes
  }

  /// `300 files are as recorded: 280 compared by digest, 20 by length alone; 0 files not compared`
  var sentence: String {
    "\(counted(right, "file")) \(right == 1 ? "is" : "are") as recorded: \(byDigest) compared by digest, \(byLength) by length alone; "
      + "\(counted(notCompared, "file")) not compared"
  }

  /// `2 of 300 files are not as recorded; 2 jobs queued again; 298 files are …`
  var failures: String {
    if damaged == 0 { return "\(counted(unreadable, "file")) cannot be read; \(sentence)." }
    let again =
      (requeued > 0 ? "; \(counted(requeued, "job")) queued again" : "")
      + (queueless > 0
        ? "; \(counted(queueless, "job")) not queued again because the queue was deleted: submit the URL to another queue"
        : "")
    return
      "\(damaged) of \(counted(looked, "file")) \(damaged == 1 ? "is" : "are") not as recorded\(again); \(sentence)."
  }
}
