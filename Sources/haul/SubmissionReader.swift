import Arguments
import JobQueue
import ListFormats
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
      throw ExitError(reason.code, "\(name): \(reason.message ?? "")")
    }
    return lines
  }

  /// The URLs of the command line; `path` and `digest` are for a single one.
  ///
  /// - Throws: `ExitError` that says which URL is wrong.
  func lines(
    ofURLs urls: [String], path: String?, digest: ExpectedDigest?
  ) throws -> [SubmitLine] {
    try urls.enumerated().map { index, url in
      let entry = ListEntry(
        line: index + 1, url: url, path: path, digest: digest?.description)
      return try line(entry, place: urls.count == 1 ? "" : "URL \(index + 1): ")
    }
  }

  /// `place` goes before the sentence of an error.
  private func line(_ entry: ListEntry, place: String) throws(ExitError) -> SubmitLine {
    do {
      return try line(entry)
    } catch {
      let reason = ExitError(from: error)
      throw ExitError(reason.code, "\(place)\(reason.message ?? "") Nothing was submitted.")
    }
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
