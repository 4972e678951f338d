import Arguments
import JobQueue
import ListFormats
import Log
import Terminal
import Transfer

/// Turns what the user gave into lines to submit, all of them checked: the first wrong one ends the
/// reading, before anything is sent.
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

  private var nothing: String { "Nothing was \(participle)." }

  /// The lines of the list `argument`, a file or `-`.
  ///
  /// - Throws: `ExitError` that names the file, and the line where there is one.
  func lines(ofList argument: String) async throws -> [SubmitLine] {
    let name = argument == "-" ? "standard input" : argument
    var lines: [SubmitLine] = []
    do {
      for try await entry in ListReader(ListSource(argument: argument)) {
        lines.append(try line(entry, place: "\(name): line \(entry.line): "))
      }
    } catch let error as ListError {
      let reason = ExitError(from: error)
      throw ExitError(reason.code, "\(name): \(reason.message ?? "") \(nothing)")
    }
    try requireDistinctNames(lines, called: "line", in: "\(name): ")
    return lines
  }

  /// The URLs of the command line; `path` and `digest` are for a single one.
  ///
  /// - Throws: `ExitError` that says which URL is wrong.
  func lines(
    ofURLs urls: [String], path: String?, digest: ExpectedDigest?
  ) throws -> [SubmitLine] {
    let lines = try urls.enumerated().map { index, url in
      let entry = ListEntry(
        line: index + 1, url: url, path: path, digest: digest?.description)
      return try line(entry, place: urls.count == 1 ? "" : "URL \(index + 1): ")
    }
    try requireDistinctNames(lines, called: "URL", in: "")
    return lines
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

  /// `place` goes before the sentence of an error.
  private func line(_ entry: ListEntry, place: String) throws(ExitError) -> SubmitLine {
    do {
      return try line(entry)
    } catch {
      if error is TransferError, let url = Self.completed(entry.url) {
        throw ExitError(.badInput, "\(place)the URL has no scheme. Did you mean \(url)? \(nothing)")
      }
      if error is TransferError, !entry.url.contains(":") {
        throw ExitError(
          .badInput,
          "\(place)'\(Self.shown(entry.url))' is no URL: one begins with https:// or http://. \(nothing)"
        )
      }
      let reason = ExitError(from: error)
      let sentence = "\(place)\(reason.message ?? "") \(nothing)"
      throw ExitError(
        reason.code,
        error is TransferError ? "\(sentence) It reads '\(Self.shown(entry.url))'." : sentence)
    }
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
    if let path = entry.path { try SubmissionCheck.path(path) }
    let path = try entry.path ?? path(of: url)
    return SubmitLine(
      line: entry.line, url: url.text, host: url.hostKey, path: path,
      options: entry.digest.map { JobOptions(digest: $0) })
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
