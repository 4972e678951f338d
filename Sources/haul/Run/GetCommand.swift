import Arguments
import EmbeddedPostgres
import FoundationEssentials
import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import LocalPool
import Log
import Reports
import Submitting
import Terminal
import Worker

struct GetCommand: HaulCommand {
  static let name = "get"
  static let abstract = "Download URLs here and now, without any set-up."
  static let discussion = """
    Files land in the current directory or --dir, under the last name of their URL; -o names the file of a single one. Interrupted, be it by \
    Ctrl-C or a crash, the same command goes on where it stopped; what it finished before is not \
    fetched again while the file is there with its length. With --if-exists replace or rename a command \
    that has come to its end begins anew.

    The queue is a PostgreSQL database of its own that runs while it is needed, in \
    ~/.local/state/haul, root's in /var/lib/haul, or where HAUL_STATE_DIR says. Whether a source is \
    still the same is checked before a byte is added to a partial file.

    With --json each file has an object with url, path, bytes, digest, state, error and message. The path leads to the \
    file from the working directory, and digest is null where none was checked. The state is completed, failed, or skipped by \
    --if-exists. Files that an earlier run completed come first. The last object counts the files.

    A host that refuses connections, or says that it is busy, is asked again for about half a \
    minute; one that does not answer at all takes longer to give up.
    """
  static let examples = [
    Example("haul get https://example.org/a.iso", "One file into the current directory."),
    Example(
      "haul get https://example.org/a.iso -o films/b.iso", "The same file as films/b.iso."),
    Example(
      "haul get -i list.txt -d films -j 4",
      "A list, one URL a line, into the directory films, four at once."),
    Example(
      "haul get -i list.csv --url-column link --digest-column sha256",
      "A table from elsewhere, of which two columns count."),
    Example(
      "haul get -i page.html --extract -d films", "Every URL that a page or another text names."),
    Example(
      "haul get -i list.txt --json -q >results.jsonl", "What has become of each file, for a script."
    ),
    Example(
      "haul get -i list.txt --tree --if-exists skip",
      "Under host/path/name, and what is there already is left as it is."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "dir", short: "d", "<dir>", \.directory,
        "The directory files go to; made if it is missing."
      ).from(.directories),
      .value(
        "output", short: "o", "<file>", \.output,
        "The file of a single URL; a relative path begins in --dir."),
      .value(
        "concurrency", short: "j", or: "c", "<n>", \.concurrency, in: 1...256,
        "Transfers at once, in all and from one host."),
      .value(
        "limit-rate", "<size>", \.limitRate,
        "Limit all downloads together to this many bytes per second."),
      .value(
        "checksum", "<alg=digest>", \.checksum, "The digest that a single URL's file must have."),
      .value(
        "credential", "<file>", \.credential, environment: "HAUL_CREDENTIAL",
        """
        A file with a token, password, header or certificate. Haul sends it only to the origins that the file names. \
        'haul worker --help' shows its format.
        """
      ).from(.files),
      .flag("tree", \.tree, "Keep hosts and directories: host/path/name."),
      .flag(
        "rename", \.rename,
        "Number the names of files that another one of the list has: a.iso, a.1.iso."),
      .values(
        "allow-net", "<cidr>", \.networks, environment: "HAUL_ALLOW_NET",
        "Let redirects lead to these addresses too, such as 10.0.0.0/8; may be repeated."),
      .flag("quiet", short: "q", \.progress.isQuiet, "Say nothing but errors."),
      .flag(
        "json", \.result.isJSON,
        "Print JSON, one object a line, for programs: one for each file as it ends, then one for all."
      ),
    ] + group(\.list) + group(\.choices) + group(\.requests) + group(\.log)
  static let operands: [Operand<Self>] = [
    .repeated(
      "url", \.urls, isRequired: false, "http or https URLs; ftp, ftps or sftp with --allow-scheme."
    )
  ]

  static let habits = [
    "-O": ofName, "--output-document": ofName, "--remote-name": ofName,
    "-P": ofDirectory, "--directory-prefix": ofDirectory, "--name": ofOutput,
    "-C": ofResuming, "--continue": ofResuming, "--continue-at": ofResuming,
    "-L": ofRedirects, "--location": ofRedirects,
    "-x": ofConnections, "--max-connection-per-server": ofConnections,
    "-s": ofConnections, "--split": ofConnections,
    "-Z": ofParallel, "--parallel": ofParallel, "--max-concurrent-downloads": ofParallel,
    "-A": ofAgent, "-U": ofAgent, "--user-agent": ofAgent,
    "-e": ofReferer, "--referer": ofReferer,
    "-t": ofAttempts, "--tries": ofAttempts, "--max-tries": ofAttempts, "--retry": ofAttempts,
    "-T": ofTimeout, "-m": ofTimeout, "--timeout": ofTimeout, "--max-time": ofTimeout,
    "--allow-overwrite": ofReplacing, "--force": ofReplacing, "-N": ofRefreshing,
    "--timestamping": ofRefreshing,
  ]
  static let remarks = [
    "-c": "Haul always continues a partial file; here -c is short for --concurrency."
  ]
  private static let ofName =
    "a file gets the last name of its URL, or what -o says."
  private static let ofDirectory = "-d names the directory."
  private static let ofOutput = "-o names the file, with its directory."
  private static let ofResuming = "nothing is needed to go on, the same command does."
  private static let ofConnections =
    "Haul downloads each file over one connection; -j sets how many files at once."
  private static let ofParallel = "-j sets how many files Haul downloads at once."
  private static let ofAgent = "--header 'User-Agent: NAME' sets it."
  private static let ofReferer = "--header 'Referer: URL' sets it."
  private static let ofAttempts = "--max-attempts sets how often Haul tries."
  private static let ofTimeout =
    "--stall-timeout and --connect-timeout say how long Haul waits; there is no limit for a whole file."
  private static let ofReplacing = "--if-exists replace replaces a file that exists."
  private static let ofRefreshing =
    "'haul submit --on-duplicate refresh' downloads files again that have changed at their source."
  private static let ofRedirects = "nothing is needed to follow redirects."

  var urls: [String] = []
  var directory = "."
  var output: String?
  var concurrency = 8
  var limitRate: RateArgument?
  var checksum: ExpectedDigest?
  var credential: String?
  var tree = false
  var rename = false
  var list = ListOptions()
  var networks: [CIDR] = []
  var progress = ProgressOptions()
  var result = OutputOptions()
  var choices = GetJobOptions()
  var requests = RequestOptions()
  var log = LogOptions(level: .error)

  /// A host that cannot be reached, or does not want to serve, is waited for so long.
  private static let maxHostWait = 30

  func perform() async throws {
    try checkUsage()
    var settings = try requests.settings()
    settings.netrc?.isForTypedURLs = true
    try requests.takeProxies(into: &settings, from: ProcessInfo.processInfo.environment)
    var options = try choices.options()
    let display = progress.display(label: "haul get")
    var lines = try await readLines(display)
    if lines.isEmpty { return try conclude(GetTally(lines: 0, now: .now)) }
    try nameCredential(in: &lines, &settings)
    options.maxHostWait = Self.maxHostWait
    if rename, options.contentDisposition == true, options.ifExists == nil {
      options.ifExists = "rename"
    }
    var order = GetConfiguration(
      lines: lines, directory: place.directory, concurrency: concurrency, options: options,
      allowedNetworks: networks, rateLimit: limitRate?.limit, version: Haul.version)
    order.requests = settings
    let writer = result.isJSON ? try LineWriter() : nil
    let screen = GetProgress(lines, on: display, report: writer.map(reporter))
    let run = GetRun(
      order, at: try .standard(environment: ProcessInfo.processInfo.environment),
      logger: log.logger("worker", to: display.log), observe: { screen.take($0) })
    // The reader would not learn of the files that come then.
    writer?.onFailure { run.stop() }
    StopSignals.stopGracefully(
      {
        screen.stopping()
        run.stop()
      }, abandon: { run.abandon() })
    StopSignals.aroundSuspension(
      {
        display.hide()
        run.suspend()
      }, { display.unhide() })
    let tally: GetTally
    do {
      tally = try await screen.follow(run)
    } catch {
      // What has ended has ended, whatever stopped the run.
      try? await writer?.finish()
      throw error
    }
    try await writer?.finish()
    try conclude(tally)
  }

  /// Writes an object for each file that has ended.
  private func reporter(to writer: LineWriter) -> @Sendable (GetFile) -> Void {
    let directory = place.directory
    return { writer.write(OutputOptions.json($0.members(in: directory))) }
  }

  private func checkUsage() throws(ExitError) {
    try list.check(beside: urls)
    if urls.count != 1, output != nil {
      throw ExitError(.usage, "--output needs exactly one URL; -d names the directory.")
    }
    let single = checksum.map { _ in ["--checksum"] } ?? []
    if urls.count != 1 && !single.isEmpty { throw ExitError(needingOneURL: single) }
    if tree && output != nil {
      throw ExitError(.usage, "--output and --tree do not go together.")
    }
    try requireKinds()
    for url in urls where !url.contains("://") && Self.isThere(url) {
      throw ExitError(
        .usage, "'\(url)' is a file here: for the URLs in it say -i \(shellWord(url))")
    }
  }

  private static func isThere(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  /// Adds the credential to the lines whose origin it names. Others are requested without it.
  private func nameCredential(
    in lines: inout [SubmitLine], _ settings: inout RequestSettings
  ) throws {
    guard let credential else { return }
    let file = try CredentialFile(path: credential)
    settings.credentials = file.directory
    var isUsed = false
    for index in lines.indices {
      let url = try WebURL(lines[index].url, schemes: WebURL.knownSchemes)
      guard file.isFor(url) else { continue }
      isUsed = true
      lines[index].options = lines[index].options ?? JobOptions()
      lines[index].options?.credential = file.name
    }
    // A credential from the environment may be for other commands.
    let isTyped = ProcessInfo.processInfo.environment["HAUL_CREDENTIAL"] != credential
    guard isUsed || !isTyped else {
      throw ExitError(
        .badInput,
        "the 'origins' in \(credential) are not those of any URL. Nothing was downloaded.")
    }
  }

  /// The directory, and the name of a single file in it; nil for that of its URL.
  private var place: (directory: String, name: String?) {
    guard let output else { return (directory, nil) }
    let path = output.hasPrefix("/") || directory == "." ? output : "\(directory)/\(output)"
    guard let slash = path.lastIndex(of: "/") else { return (directory, path) }
    let parent = String(path[..<slash])
    return (parent.isEmpty ? "/" : parent, String(path[path.index(after: slash)...]))
  }

  /// In earlier versions `-o` named the directory.
  private func requireKinds() throws(ExitError) {
    var isDirectory = false
    if let output {
      if output == "-" {
        throw ExitError(
          .usage,
          "Haul writes to files, not to standard output. Name the file; for one that is named - say -o ./-."
        )
      }
      let (parent, name) = place
      let path = "\(parent)/\(name ?? "")"
      if output.hasSuffix("/")
        || FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
      {
        throw ExitError(
          .usage,
          "--output names the file, and \(output) is a directory; for the directory say -d \(shellWord(output))."
        )
      }
    }
    let (parent, name) = place
    if "\(parent)/\(name ?? "")".split(separator: "/").contains(where: {
      $0.lowercased() == ".haul"
    }) {
      throw ExitError(
        .usage,
        "\(output ?? directory) is in a directory .haul, which belongs to Haul; name another one."
      )
    }
    if FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), !isDirectory {
      throw ExitError(
        .usage,
        "--dir names the directory, and \(directory) is a file; for the file say -o \(shellWord(directory))."
      )
    }
  }

  /// None where the list is empty, which is said.
  private func readLines(_ display: ProgressDisplay) async throws -> [SubmitLine] {
    var reader = SubmissionReader(
      label: "haul get", naming: tree ? .tree : .flat, participle: "downloaded",
      findsDoublePaths: true, display: display,
      describe: { ExitError(from: $0).message ?? "" })
    reader.schemes = WebURL.webSchemes.union(requests.schemes.map(\.argument))
    reader.choices = list.choices
    // The server's names replace these.
    reader.numbersDoubleNames = rename || choices.given.contentDisposition == true
    if let input = list.input {
      return try await reader.lines(ofList: input, skipsWrong: list.skipBad)
    }
    return try reader.lines(ofURLs: urls, path: place.name, digest: checksum)
  }

  private func conclude(_ tally: GetTally) throws {
    if result.isJSON || !progress.isQuiet && !tally.isSingleFailure {
      try result.print(tally.members, orSay: tally.sentence)
    }
    if tally.unfinished > 0, let trouble = tally.trouble {
      throw ExitError(
        .inputOutput,
        "stopped with \(counted(tally.unfinished, "file")) unfinished, for \(place.directory) cannot be written: \(trouble). Once it can, the same command goes on."
      )
    }
    if tally.unfinished > 0 {
      throw ExitError(
        .tryAgain,
        "stopped with \(counted(tally.unfinished, "file")) unfinished; the same command goes on.")
    }
    if tally.failed > 0 { throw ExitError(.failed, tally.failures.sentence) }
  }
}
