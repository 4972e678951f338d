import HaulTransfer
package import JobQueue
package import ListFormats

/// Finds the new URL for each job of a batch in the lines of a ``URLMap``.
package struct URLReplacement {
  /// A URL as bytes. `String` treats equivalent spellings of a letter as equal.
  private typealias Key = [UInt8]

  /// A line with a new URL, and the jobs that it matched.
  private struct New {
    let line: SubmitLine
    /// The URL of the job that the line matched last; nil if it matched none. That job may already be done.
    var met: String?
    /// Whether the line matched jobs with different URLs.
    var isAmbiguous = false
    /// Whether the line matched a job that is not done.
    var isWanted = false
    /// Another line that gives the same job a different URL; nil if there is none.
    var rival: Int?

    /// The reason why the line cannot be used, or nil if it can.
    var problem: String? {
      if let rival { return "line \(rival) gives the same job a different URL." }
      if isAmbiguous {
        return
          "several jobs have this URL with different queries. Write the old URL and a space before the new URL."
      }
      return isWanted
        ? nil
        : "no unfinished job of the batch has the old URL, or this URL with a different query."
    }
  }

  private let reader: SubmissionReader
  private let name: String
  private let problems: LineProblems
  private var news: [New] = []
  private var byURL: [Key: Int] = [:]
  private var byBase: [Key: Int] = [:]
  /// For each new URL, the index of its line in `news`. If the command is repeated, the index leads from a job that
  /// already has its new URL to the line.
  private var byNew: [Key: Int] = [:]
  /// For each queue, the lines that replace jobs.
  private var found: [String: [(index: Int, line: SubmitLine)]] = [:]
  /// The number of jobs that already have the new URL.
  package private(set) var same = 0

  /// Reads the lines of the file `name`. Invalid lines are added to `problems`.
  package init(
    _ items: [URLMap.Item], of name: String, _ reader: SubmissionReader, _ problems: LineProblems
  ) {
    (self.reader, self.name, self.problems) = (reader, name, problems)
    for item in items {
      switch item {
      case .problem(let line, let reason):
        problems.add(.init(line, at: "\(name):\(line): ", "\(reason)."))
      case .line(let line): add(line)
      }
    }
  }

  private mutating func add(_ line: URLMap.Line) {
    guard let new = checked(line.new, line.number) else { return }
    guard let given = line.old else { return add(new, to: \.byBase, Self.base(new.url)) }
    guard let old = checked(given, line.number) else { return }
    add(new, to: \.byURL, Key(old.url.utf8))
    byNew[Key(new.url.utf8)] = byURL[Key(old.url.utf8)]
  }

  private mutating func add(
    _ line: SubmitLine, to keys: WritableKeyPath<URLReplacement, [Key: Int]>, _ key: Key
  ) {
    if let first = self[keyPath: keys][key] {
      guard !news[first].line.url.utf8.elementsEqual(line.url.utf8) else { return }
      // If two lines contradict each other, neither is used.
      news[first].rival = news[first].rival ?? line.line
      news.append(New(line: line, rival: news[first].line.line))
      return
    }
    self[keyPath: keys][key] = news.count
    news.append(New(line: line))
  }

  private func checked(_ url: String, _ number: Int) -> SubmitLine? {
    // The path comes from the job, which is not known yet.
    reader.line(
      ListEntry(line: number, url: url, path: "-"), place: "\(name):\(number): ", problems)
  }

  /// Returns the part of the URL before the query.
  private static func base(_ url: String) -> Key {
    Key(url.utf8.prefix { $0 != UInt8(ascii: "?") })
  }

  /// Finds the line with the new URL for a job. If `isDone` is true, the job is completed or cancelled and gets no new URL. The
  /// call then only checks whether the line also fits jobs with other URLs.
  package mutating func take(_ job: ExportedJob, in queue: String, isDone: Bool) {
    let key = Key(job.url.utf8)
    let exact = byURL[key] ?? byNew[key]
    guard let index = exact ?? byBase[Self.base(job.url)] else { return }
    let new = news[index].line
    if exact == nil, let met = news[index].met, !met.utf8.elementsEqual(job.url.utf8) {
      news[index].isAmbiguous = true
    }
    news[index].met = job.url
    if isDone { return }
    news[index].isWanted = true
    guard !job.url.utf8.elementsEqual(new.url.utf8) else {
      same += 1
      return
    }
    let line = SubmitLine(
      line: new.line, url: new.url, host: new.host, path: job.path, priority: job.priority,
      options: job.options)
    found[queue, default: []].append((index, line))
  }

  /// Returns the lines to submit, grouped by queue. Call this after ``take(_:in:isDone:)`` for all jobs. Lines that cannot be
  /// used are added to the problems.
  package func lines() -> [(queue: String, lines: [SubmitLine])] {
    for new in news {
      guard let reason = new.problem else { continue }
      problems.add(.init(new.line.line, at: "\(name):\(new.line.line): ", reason))
    }
    return found.sorted { $0.key < $1.key }.map { queue, lines in
      (queue, lines.filter { news[$0.index].problem == nil }.map(\.line))
    }
  }
}
