import JobModel
import JobQueue
import Stores
import Terminal

/// A finished file that does not match its record, or that cannot be read.
struct FaultyFile: Sendable {
  /// The kind of record with which a file is compared.
  enum Record: Sendable {
    case job
    /// A line of a manifest.
    case line
  }

  /// The id of the job, or the number of the line in the manifest; nil if there is no record.
  let number: Int64?
  let path: String
  /// The problem with the file.
  let fault: String

  /// Returns the columns of a list. The first column contains the number of the record.
  static func columns(_ record: Record) -> [Listing<FaultyFile>.Column] {
    let key = record == .job ? "job" : "line"
    return [
      .init(key.uppercased(), key: key, .right, value: { .number($0.number) }),
      .init("PATH", key: "path", value: { .string($0.path) }),
      .init("FAULT", key: "fault", value: { .string($0.fault) }, style: { _ in .red }),
    ]
  }
}

/// The results of a verification so far.
struct VerifyTally: Sendable {
  private(set) var faults: [FaultyFile] = []
  /// The number of files that match their records, including the digest.
  private(set) var byDigest = 0
  /// The number of files that have the recorded length, but no recorded digest.
  private(set) var byLength = 0
  /// The number of files that are missing or do not match their records.
  private var damaged = 0
  /// The number of files that cannot be read.
  private var unreadable = 0
  /// The number of files that may be on another machine.
  private(set) var elsewhere = 0
  /// For each store that is not on this machine, the number of files in it.
  private(set) var others: [String: Int] = [:]
  /// The number of jobs that are queued again.
  var requeued = 0
  /// The number of jobs that could not be queued again, because their queue was deleted.
  var queueless = 0
  /// The number of jobs in each state other than `completed`. Their files are not checked.
  var unfinished: [(state: JobState, count: Int)] = []
  /// The number of files in the directory that the manifest does not name.
  private var extra = 0
  /// The number of lines of the manifest that name no file.
  var wrongLines = 0
  /// The size of the random sample as text, such as `1%`; nil for all files.
  var sample: String?

  mutating func add(_ file: FinishedFile, _ verdict: FileVerifier.Verdict, mayBeElsewhere: Bool) {
    add(
      file.job, file.path, bytes: file.bytes, digest: file.digest, verdict,
      mayBeElsewhere: mayBeElsewhere)
  }

  /// Adds the verdict on the file of the record `number`, which states the length `bytes` and the digest.
  mutating func add(
    _ number: Int64, _ path: String, bytes: Int64?, digest: String?,
    _ verdict: FileVerifier.Verdict, mayBeElsewhere: Bool = false
  ) {
    let fault: String
    switch verdict {
    case .right(let hasDigest):
      if hasDigest { byDigest += 1 } else { byLength += 1 }
      return
    case .missing where mayBeElsewhere:
      elsewhere += 1
      return
    case .missing: fault = "missing"
    case .length(let length): fault = "\(length) bytes long, not \(bytes ?? 0)"
    case .digest(let found): fault = "\(found), not \(digest ?? "")"
    case .unreadable(let why): fault = "unreadable: \(why)"
    }
    if verdict.isDamaged { damaged += 1 } else { unreadable += 1 }
    faults.append(FaultyFile(number: number, path: path, fault: fault))
  }

  /// Adds to the description of the last faulty file.
  mutating func addFault(_ fault: String) {
    guard let last = faults.popLast() else { return }
    faults.append(
      FaultyFile(number: last.number, path: last.path, fault: "\(last.fault); \(fault)"))
  }

  /// Adds a file in the directory that the manifest does not name.
  mutating func addExtra(_ path: String) {
    extra += 1
    faults.append(FaultyFile(number: nil, path: path, fault: "not in the manifest"))
  }

  /// Adds a directory that cannot be listed, with the reason.
  mutating func addClosed(_ path: String, _ reason: String) {
    unreadable += 1
    faults.append(FaultyFile(number: nil, path: path, fault: "unreadable: \(reason)"))
  }

  mutating func addOther(_ store: String) { others[store, default: 0] += 1 }

  private var right: Int { byDigest + byLength }
  /// The number of files that were checked or found missing.
  var looked: Int { right + damaged }
  private var notCompared: Int {
    unreadable + elsewhere + others.values.reduce(0, +) + wrongLines
  }

  /// Sentences about files that were not checked, and about a sample.
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

  /// The result without the final period: `300 files match their records: 280 by digest and 20 by length only. 0 files were
  /// not compared`.
  var sentence: String {
    "\(counted(right, "file")) \(right == 1 ? "matches its record" : "match their records"): \(byDigest) by digest and \(byLength) by length only. "
      + "\(counted(notCompared, "file")) \(notCompared == 1 ? "was" : "were") not compared"
  }

  /// The result with faulty files: `2 of 300 files do not match their records. Haul queued 2 jobs again. 298 files match …`
  var failures: String {
    let extras =
      extra > 0
      ? "\(counted(extra, "file")) \(extra == 1 ? "is" : "are") not in the manifest. " : ""
    if damaged == 0 {
      let closed = unreadable > 0 ? "\(counted(unreadable, "file")) cannot be read. " : ""
      return "\(extras)\(closed)\(sentence)."
    }
    let again =
      (requeued > 0 ? " Haul queued \(counted(requeued, "job")) again." : "")
      + (queueless > 0
        ? " Haul did not queue \(counted(queueless, "job")) again, because the queue was deleted. Submit the URL to another queue."
        : "")
    return
      "\(damaged) of \(counted(looked, "file")) \(damaged == 1 ? "does not match its record" : "do not match their records").\(again) \(extras)\(sentence)."
  }
}
