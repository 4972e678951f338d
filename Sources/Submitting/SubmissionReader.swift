package import Arguments
import HaulSystem
package import HaulTransfer
import JobModel
package import JobQueue
package import ListFormats
package import Terminal

/// Converts the user's URLs and lists into lines to submit, and checks each line.
package struct SubmissionReader {
  /// The rule for the default path of a file.
  package enum Naming: Sendable {
    /// The path is `host/path/name`.
    case tree
    /// The path is only the file's name.
    case flat
  }

  /// The command as the user typed it. Messages begin with this text.
  package let label: String
  package var naming = Naming.tree
  /// The participle in the sentence "Nothing was submitted.", which ends the error about invalid lines.
  package var participle = "submitted"
  /// Whether the reader rejects different URLs with the same path. If false, the database finds them.
  package var findsDoublePaths = false
  /// Whether the second URL with the same path gets a number in its path. If false, the second URL is rejected.
  package var numbersDoubleNames = false
  /// The schemes that URLs may have.
  package var schemes = WebURL.knownSchemes
  package var choices = ListChoices()
  /// The collector of the permissions that a worker needs for the URLs.
  package var reach = AskedReach()
  /// The display for notices about a list, and for its problems.
  package let display: ProgressDisplay
  /// Returns a sentence that describes any error.
  package let describe: @Sendable (any Error) -> String

  package init(
    label: String, naming: Naming = .tree, participle: String = "submitted",
    findsDoublePaths: Bool = false, display: ProgressDisplay,
    describe: @escaping @Sendable (any Error) -> String
  ) {
    self.label = label
    self.naming = naming
    self.participle = participle
    self.findsDoublePaths = findsDoublePaths
    self.display = display
    self.describe = describe
  }

  /// Returns the valid lines of the list `argument` (a file or `-`) in pieces, as they are read. Invalid lines are added to
  /// `problems`, and the caller decides what to do.
  ///
  /// Iterating throws `ExitError` if the list cannot be read.
  package func pieces(ofList argument: String, problems: LineProblems) -> SubmissionPieces {
    SubmissionPieces(
      reader: self, list: ListSource(argument: argument), problems: problems)
  }

  /// Returns all lines of the list `argument`; none for an empty list. If `skipsWrong` is true, invalid lines are skipped.
  ///
  /// - Throws: `ExitError` that names the file and the invalid lines.
  package func lines(ofList argument: String, skipsWrong: Bool) async throws -> [SubmitLine] {
    let problems = LineProblems()
    let name = ListSource(argument: argument).name
    let pieces = try await pieces(ofList: argument, problems: problems).begin()
    try requireLine(in: pieces, skipsWrong: skipsWrong)
    var lines: [SubmitLine] = []
    for try await piece in pieces { lines += piece }
    lines = distinct(lines, called: "line", problems) { "\(name):\($0): " }
    if skipsWrong {
      problems.listLeftOut(on: display, label: label)
    } else if let error = problems.error(listedOn: display, nothing: nothing) {
      throw error
    }
    return lines
  }

  /// Reports an empty list to the user. An empty list is not an error, because other programs generate lists and may have
  /// nothing to do.
  ///
  /// - Throws: `ExitError` if `skipsWrong` is true and the list has lines, but none of them is valid.
  package func requireLine(in pieces: SubmissionPieces, skipsWrong: Bool) throws(ExitError) {
    guard pieces.isEmpty else { return }
    if pieces.problems.count == 0 {
      display.say("\(label): found no URL in \(pieces.list.name)")
    } else if skipsWrong {
      pieces.problems.list(on: display)
      throw ExitError(.badInput, "no line of \(pieces.list.name) is correct. \(nothing)")
    }
  }

  /// Returns lines for the URLs of the command line. Set `path` and `digest` only if there is a single URL.
  ///
  /// - Throws: `ExitError` that lists the invalid URLs.
  package func lines(
    ofURLs urls: [String], path: String?, digest: ExpectedDigest?
  ) throws -> [SubmitLine] {
    let problems = LineProblems()
    let place = { (number: Int) in urls.count == 1 ? "" : "URL \(number): " }
    var lines = urls.enumerated().compactMap { index, url in
      let entry = ListEntry(
        line: index + 1, url: url, path: path, digest: digest?.description)
      return line(entry, place: place(index + 1), problems)
    }
    lines = distinct(lines, called: "URL", problems, place)
    if let error = problems.error(listedOn: display, nothing: nothing, isList: false) {
      throw error
    }
    return lines
  }

  private var nothing: String { "Nothing was \(participle)." }

  /// Returns the error for a list that cannot be read.
  package func error(_ error: ListError, in list: String) -> ExitError {
    ExitError(error.exitCode, "\(list): \(describe(error)) \(nothing)")
  }

  /// Returns the lines without path conflicts. Conflicts are added to `problems`.
  private func distinct(
    _ lines: [SubmitLine], called word: String, _ problems: LineProblems, _ place: (Int) -> String
  ) -> [SubmitLine] {
    guard findsDoublePaths else { return lines }
    var paths = PathCollisions(lines)
    let lines = numbersDoubleNames ? paths.numbered(lines) : paths.distinct(lines)
    let wayOut =
      switch naming {
      case .tree: "To give a file another path, use a list in JSON lines."
      case .flat:
        "Use --tree to keep hosts and directories, or --rename to add numbers."
      }
    for (collisions, reason) in paths.collisions(word) {
      guard let first = collisions.first else { continue }
      problems.add(
        [.init(first, at: place(first), "\(reason) \(wayOut)", others: collisions.count - 1)],
        of: collisions.count)
    }
    return lines
  }

  /// Returns the line to submit for an entry; nil for an invalid entry. An invalid entry is added to `problems`, with a
  /// sentence that begins with `place`.
  package func line(_ entry: ListEntry, place: @autoclosure () -> String, _ problems: LineProblems)
    -> SubmitLine?
  {
    do {
      return try line(entry)
    } catch {
      problems.add(.init(entry.line, at: place(), sentence(error, entry)))
      return nil
    }
  }

  private func sentence(_ error: any Error, _ entry: ListEntry) -> String {
    let message = describe(error)
    guard error is TransferError else { return message }
    if let url = Self.completed(entry.url) { return "the URL has no scheme. Did you mean \(url)?" }
    let text = Self.shown(entry.url)
    if !entry.url.contains(":") {
      let others = schemes.subtracting(WebURL.webSchemes).sorted()
      let beginnings = (["https", "http"] + others).map { "\($0)://" }
      return "'\(text)' is not a URL. A URL begins with \(OneOf.listed(beginnings))."
    }
    let known = try? WebURL(entry.url, schemes: WebURL.knownSchemes)
    if let known, !schemes.contains(known.scheme) {
      return "\(message) Use --allow-scheme \(known.scheme) to allow it. The URL is '\(text)'."
    }
    return "\(message) The URL is '\(text)'."
  }

  /// Returns the URL that the user probably meant, if `text` only lacks `https://`; otherwise nil.
  package static func completed(_ text: String) -> String? {
    guard !text.contains("://"), let url = try? WebURL("https://" + text), !url.hasCredentials,
      url.host.contains(".") || url.host == "localhost" || url.hostKey != url.host,
      url.host.first?.isLetter == true || url.host.first?.isNumber == true
    else { return nil }
    return shown("https://" + text)
  }

  /// Returns a shortened invalid URL that its author can recognise. The result contains no possible user name or password
  /// (everything up to the last @) and no possible signature (everything from the first ?).
  package static func shown(_ url: String) -> String {
    let host = url.lastIndex(of: "@").map { "…" + url[$0...] } ?? url
    let path = host.prefix { $0 != "?" }
    let text = path.count < host.count ? path + "?…" : path
    return DisplayWidth.truncated(SafeText.visible(String(text)), to: 80)
  }

  private func line(_ entry: ListEntry) throws -> SubmitLine {
    let url = try WebURL(entry.url, schemes: schemes)
    if let error = url.noFile { throw error }
    try SubmissionCheck.url(entry.url, parsed: url)
    try SubmissionCheck.options(of: entry)
    if let path = entry.path { try SubmissionCheck.path(path) }
    var options = entry.options
    options.mirrors = try mirrors(of: entry, besides: url)
    let path = try entry.path ?? path(of: url, in: entry.directory)
    reach.note(url)
    return SubmitLine(
      line: entry.line, url: url.text, host: url.hostKey, path: path,
      priority: entry.priority, options: options == JobOptions() ? nil : options)
  }

  /// Returns the other URLs of an entry without duplicates, or nil if there are none.
  private func mirrors(of entry: ListEntry, besides url: WebURL) throws -> [String]? {
    var texts = [url.text]
    for text in entry.options.mirrors ?? [] {
      do {
        let mirror = try WebURL(text, schemes: schemes)
        if let error = mirror.noFile { throw error }
        try SubmissionCheck.url(text, parsed: mirror)
        if !texts.contains(mirror.text) { texts.append(mirror.text) }
      } catch {
        let sentence = describe(error)
        let reason = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
        throw SubmissionProblem.mirror("\(reason). The mirror is '\(Self.shown(text))'")
      }
    }
    let mirrors = Array(texts.dropFirst())
    guard mirrors.count <= SubmissionCheck.mostMirrors else {
      throw SubmissionProblem.mirrors(mirrors.count)
    }
    return mirrors.isEmpty ? nil : mirrors
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

extension ListError {
  /// The exit code of a command that cannot read a list because of this error.
  package var exitCode: ExitCode {
    switch self {
    case .unreadable: .inputOutput
    case .noText: .badInput
    }
  }
}
