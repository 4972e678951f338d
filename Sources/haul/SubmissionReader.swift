import Arguments
import JobQueue
import ListFormats
import Log
import Terminal
import Transfer

/// Turns what the user gave into lines to submit, each of them checked.
struct SubmissionReader {
  /// Where a file goes when nothing says it.
  enum Naming: Sendable {
    /// `host/path/name`
    case tree
    /// `name`
    case flat
  }

  var naming = Naming.tree
  /// What has not happened when a line is wrong.
  var participle = "submitted"
  /// nil: by the list's name and first line.
  var format: ListFormat?
  /// Whether lines that are wrong are left out of a list; else they end its reading.
  var skipsWrong = false
  /// Gets notices about a list, and what is wrong with it.
  let display: ProgressDisplay

  /// The lines of the list `argument`, a file or `-`, in pieces as they are read. Lines that are wrong go to `problems`,
  /// which are shown at the end.
  ///
  /// Iterating throws `ExitError` where the list cannot be read, and at its end where lines are wrong.
  func pieces(ofList argument: String, problems: LineProblems) -> SubmissionPieces {
    SubmissionPieces(
      reader: self, list: ListSource(argument: argument), problems: problems)
  }

  /// All lines of the list `argument`.
  ///
  /// - Throws: `ExitError` that names the file, and the lines that are wrong.
  func lines(ofList argument: String) async throws -> [SubmitLine] {
    let problems = LineProblems()
    var lines: [SubmitLine] = []
    for try await piece in pieces(ofList: argument, problems: problems) { lines += piece }
    try requireDistinctNames(lines, called: "line", in: "\(ListSource(argument: argument).name): ")
    return lines
  }

  /// The URLs of the command line; `path` and `digest` are for a single one.
  ///
  /// - Throws: `ExitError` that says which URLs are wrong.
  func lines(
    ofURLs urls: [String], path: String?, digest: ExpectedDigest?
  ) throws -> [SubmitLine] {
    let problems = LineProblems()
    let lines = urls.enumerated().compactMap { index, url in
      let entry = ListEntry(
        line: index + 1, url: url, path: path, digest: digest?.description)
      return line(entry, place: urls.count == 1 ? "" : "URL \(index + 1): ", problems)
    }
    if let error = problems.error(listedOn: display, nothing: nothing) { throw error }
    try requireDistinctNames(lines, called: "URL", in: "")
    return lines
  }

  private var nothing: String { "Nothing was \(participle)." }

  /// The error of a list that cannot be read.
  func error(_ error: ListError, in list: String) -> ExitError {
    let reason = ExitError(from: error)
    return ExitError(reason.code, "\(list): \(reason.message ?? "") \(nothing)")
  }

  /// Shows what was wrong with a list that was read to its end; returns the error of one that is not taken so.
  func conclude(_ problems: LineProblems) -> ExitError? {
    if !skipsWrong { return problems.error(listedOn: display, nothing: nothing) }
    problems.list(on: display)
    return nil
  }

  /// Without hosts and directories in their names, files of two URLs may well get one. The database would refuse them too,
  /// and could not say what to do.
  private func requireDistinctNames(
    _ lines: [SubmitLine], called word: String, in place: String
  ) throws(ExitError) {
    guard naming == .flat else { return }
    var first: [String: SubmitLine] = [:]
    for line in lines {
      let other = first[line.path, default: line]
      if other.url != line.url {
        throw ExitError(
          .badInput,
          "\(place)\(word) \(other.line) and \(word) \(line.line) would both become "
            + "\"\(line.path)\"; with --tree each keeps its host and directories. "
            + nothing)
      }
      first[line.path] = other
    }
  }

  /// The line that an entry makes; nil for a wrong one, which `problems` gets, led by `place`.
  func line(_ entry: ListEntry, place: @autoclosure () -> String, _ problems: LineProblems)
    -> SubmitLine?
  {
    do {
      return try line(entry)
    } catch {
      problems.add(place() + Self.sentence(error, entry))
      return nil
    }
  }

  private static func sentence(_ error: any Error, _ entry: ListEntry) -> String {
    guard error is TransferError else { return ExitError(from: error).message ?? "" }
    if let url = completed(entry.url) { return "the URL has no scheme. Did you mean \(url)?" }
    if !entry.url.contains(":") {
      return "'\(shown(entry.url))' is no URL: one begins with https:// or http://."
    }
    return "\(ExitError(from: error).message ?? "") It reads '\(shown(entry.url))'."
  }

  /// What was meant by a text that lacks `https://` alone; nil for any other.
  static func completed(_ text: String) -> String? {
    guard !text.contains("://"), let url = try? WebURL("https://" + text), !url.hasCredentials,
      url.host.contains(".") || url.host == "localhost" || url.hostKey != url.host,
      url.host.first?.isLetter == true || url.host.first?.isNumber == true
    else { return nil }
    return shown("https://" + text)
  }

  /// A text that is no URL, for its author to recognise: without what could be a user name or password
  /// (all up to the last @) or a signature (all from the first ?), and not too long.
  static func shown(_ url: String) -> String {
    let host = url.lastIndex(of: "@").map { "…" + url[$0...] } ?? url
    let path = host.prefix { $0 != "?" }
    let text = path.count < host.count ? path + "?…" : path
    return DisplayWidth.truncated(SafeText.visible(String(text)), to: 80)
  }

  private func line(_ entry: ListEntry) throws -> SubmitLine {
    let url = try WebURL(entry.url)
    try SubmissionCheck.url(entry.url, hasUserInfo: url.hasCredentials)
    try SubmissionCheck.options(of: entry)
    if let path = entry.path { try SubmissionCheck.path(path) }
    return SubmitLine(
      line: entry.line, url: url.text, host: url.hostKey,
      path: try entry.path ?? path(of: url, in: entry.directory),
      priority: entry.priority, options: JobOptions(entry))
  }

  private func path(of url: WebURL, in directory: String?) throws -> String {
    guard let directory else { return try path(of: url) }
    let name = try DefaultPath.name(path: url.path, digest: DigestAlgorithm.sha256)
    let path = "\(directory)/\(name)"
    try SubmissionCheck.path(path)
    return path
  }

  private func path(of url: WebURL) throws -> String {
    switch naming {
    case .tree:
      try DefaultPath.path(
        hostKey: url.hostKey, path: url.path, query: url.query, digest: DigestAlgorithm.sha256)
    case .flat: try DefaultPath.name(path: url.path, digest: DigestAlgorithm.sha256)
    }
  }
}

extension JobOptions {
  /// Those that a list names for one of its entries; nil for none.
  init?(_ entry: ListEntry) {
    self.init(
      digest: entry.digest, ifExists: entry.ifExists, maxAttempts: entry.maxAttempts,
      maxBytes: entry.maxBytes, acceptUnverifiedLength: entry.acceptUnverifiedLength,
      maxHostWait: entry.maxHostWait)
    length = entry.length
    recordDigest = entry.recordDigest
    maxRate = entry.maxRate
    remoteTime = entry.remoteTime
    connectTimeout = entry.connectTimeout
    stallTimeout = entry.stallTimeout
    if self == JobOptions() { return nil }
  }
}
