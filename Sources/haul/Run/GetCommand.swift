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
  static let abstract = "Download URLs now, without any setup."
  static let discussion = """
    Haul names each file after the last part of its URL and writes it to the current directory or to --dir. \
    Use -o to name the file of a single URL. If Ctrl-C or a crash interrupts the command, run it again: it \
    continues where it stopped. Haul does not download a finished file again while that file exists with the \
    same length. To download all files of a completed run again, use --if-exists replace or --if-exists \
    rename.

    Haul exits with 0 if all files are complete, and with 1 if some failed. If you stop it before the end, it \
    exits with 75. Options with [=no] are off by default, so a value such as --remote-time=no changes nothing.

    The queue is in a PostgreSQL database that Haul starts by itself. Its data is in ~/.local/state/haul (for \
    root: /var/lib/haul) or in HAUL_STATE_DIR. Before Haul adds bytes to a partial file, it checks that the \
    source has not changed.

    With --json Haul prints one object for each file, with url, path, bytes, digest, state, error and message. \
    The path is relative to the working directory. The digest is null if Haul did not check a digest. The \
    state is completed, failed, or skipped because of --if-exists. Haul first prints the files that an earlier \
    run completed. The last object counts the files.

    If a host refuses connections or says that it is busy, Haul retries for about 30 seconds. If a host does \
    not answer at all, Haul gives up later, because each attempt waits up to --connect-timeout (10 seconds) or \
    --stall-timeout (60 seconds).
    """
  static let examples = [
    Example("haul get https://example.org/a.iso", "Downloads a file to the current directory."),
    Example(
      "haul get https://example.org/a.iso -o films/b.iso", "Downloads the file as films/b.iso."),
    Example(
      "haul get -i list.txt -d films -j 4",
      "Downloads a list with one URL per line to the directory films, four files at a time."),
    Example(
      "haul get -i list.csv --url-column link --digest-column sha256",
      "Reads URLs and digests from two columns of a table."),
    Example(
      "haul get -i page.html --extract -d films",
      "Downloads every URL that a page or another text contains."),
    Example(
      "haul get -i list.txt --json -q >results.jsonl",
      "Writes the result of each file, for a script."
    ),
    Example(
      "haul get -i list.txt --tree --if-exists skip",
      "Writes files to host/path/name and skips files that exist."),
  ]
  static let options: [Option<Self>] =
    [
      .value(
        "dir", short: "d", "<dir>", \.directory,
        "The directory for the files. Haul creates it if it is missing."
      ).from(.directories),
      .value(
        "output", short: "o", "<file>", \.output,
        "The file name for a single URL. A relative path starts in --dir."),
      .value(
        "concurrency", short: "j", or: "c", "<n>", \.concurrency, in: 1...256,
        "How many transfers may run at the same time. They can all be from one host: the limit of 4 per host in a pool does not apply here."
      ),
      .value(
        "limit-rate", "<size>", \.limitRate,
        "Limit all downloads together to this many bytes per second."),
      .value(
        "checksum", "<alg=digest>", \.checksum,
        "The digest that the file of a single URL must have."),
      .value(
        "credential", "<file>", \.credential, environment: "HAUL_CREDENTIAL",
        """
        A credential: a file with a token, password, header or certificate. Haul sends this secret only to the origins \
        that the file names. 'haul worker --help' shows its format. Here the option takes a file, but in 'haul submit' it \
        takes a name.
        """
      ).from(.files),
      .flag("tree", \.tree, "Keep hosts and directories: write files to host/path/name."),
      .flag(
        "rename", \.rename,
        "If several files in the list have the same name, number them: a.iso, a.1.iso."),
      .values(
        "allow-net", "<cidr>", \.networks, environment: "HAUL_ALLOW_NET",
        "Allow redirects to these private addresses, such as 10.0.0.0/8. URLs that you give need no permission. You can repeat the option."
      ),
      .flag("quiet", short: "q", \.progress.isQuiet, "Print only errors and warnings."),
      .flag(
        "json", \.result.isJSON,
        "Print JSON, one object per line: one for each file when it ends, and a last one with the totals."
      ),
    ] + group(\.list) + group(\.choices) + group(\.requests) + group(\.log)
  static let operands: [Operand<Self>] = [
    .repeated(
      "url", \.urls, isRequired: false,
      "http or https URLs. ftp, ftps and sftp URLs need --allow-scheme."
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
    "-c": "Haul always continues a partial file. Here -c is short for --concurrency."
  ]
  private static let ofName =
    "Haul names a file after the last part of its URL. Use -o for another name."
  private static let ofDirectory = "-d names the directory."
  private static let ofOutput = "-o names the file and can include a directory."
  private static let ofResuming = "Run the same command again: Haul resumes by itself."
  private static let ofConnections =
    "Haul downloads each file over one connection. -j sets how many files Haul downloads at the same time."
  private static let ofParallel = "-j sets how many files Haul downloads at the same time."
  private static let ofAgent = "--header 'User-Agent: NAME' sets the user agent."
  private static let ofReferer = "--header 'Referer: URL' sets the referer."
  private static let ofAttempts = "--max-attempts sets how often Haul tries each file."
  private static let ofTimeout =
    "--stall-timeout and --connect-timeout limit how long Haul waits. Haul has no time limit for a whole file."
  private static let ofReplacing = "--if-exists replace replaces an existing file."
  private static let ofRefreshing =
    "'haul submit --on-duplicate refresh' downloads a file again if its source has changed."
  private static let ofRedirects = "Haul follows redirects by itself."

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

  /// The number of seconds to wait for a host that cannot be reached or that is busy.
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
    // If standard output is closed, its reader would not learn about further files.
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
      // An error does not undo finished files, so their lines are still written.
      try? await writer?.finish()
      throw error
    }
    try await writer?.finish()
    try conclude(tally)
  }

  /// Returns a function that writes an object for each file that has ended.
  private func reporter(to writer: LineWriter) -> @Sendable (GetFile) -> Void {
    let directory = place.directory
    return { writer.write(OutputOptions.json($0.members(in: directory))) }
  }

  private func checkUsage() throws(ExitError) {
    try list.check(beside: urls)
    if urls.count != 1, output != nil {
      throw ExitError(.usage, "--output needs exactly one URL. Use -d to name the directory.")
    }
    let single = checksum.map { _ in ["--checksum"] } ?? []
    if urls.count != 1 && !single.isEmpty { throw ExitError(needingOneURL: single) }
    if tree && output != nil {
      throw ExitError(.usage, "You cannot use --output and --tree together.")
    }
    try requireKinds()
    for url in urls where !url.contains("://") && Self.isThere(url) {
      throw ExitError(
        .usage, "'\(url)' is a local file. To download the URLs in it, use -i \(shellWord(url))")
    }
  }

  private static func isThere(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  /// Adds the credential to lines whose origin it names. Other lines are requested without it.
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
    // A credential from the environment may be meant for other commands.
    let isTyped = ProcessInfo.processInfo.environment["HAUL_CREDENTIAL"] != credential
    guard isUsed || !isTyped else {
      throw ExitError(
        .badInput,
        "the 'origins' in \(credential) match none of the URLs. Nothing was downloaded.")
    }
  }

  /// The directory, and the name of a single file in it. If the name is nil, the URL gives the name.
  private var place: (directory: String, name: String?) {
    guard let output else { return (directory, nil) }
    let path = output.hasPrefix("/") || directory == "." ? output : "\(directory)/\(output)"
    guard let slash = path.lastIndex(of: "/") else { return (directory, path) }
    let parent = String(path[..<slash])
    return (parent.isEmpty ? "/" : parent, String(path[path.index(after: slash)...]))
  }

  /// Checks that --output and --dir name a file and a directory. In earlier versions `-o` named the directory.
  private func requireKinds() throws(ExitError) {
    var isDirectory = false
    if let output {
      if output == "-" {
        throw ExitError(
          .usage,
          "Haul writes to files, not to standard output. Name a file. For a file named -, use -o ./-."
        )
      }
      let (parent, name) = place
      let path = "\(parent)/\(name ?? "")"
      if output.hasSuffix("/")
        || FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
      {
        throw ExitError(
          .usage,
          "--output needs a file name, but \(output) is a directory. Use -d \(shellWord(output))."
        )
      }
    }
    let (parent, name) = place
    if "\(parent)/\(name ?? "")".split(separator: "/").contains(where: {
      $0.lowercased() == ".haul"
    }) {
      throw ExitError(
        .usage,
        "\(output ?? directory) is in a directory .haul, which Haul uses for its own files. Name another directory."
      )
    }
    if FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), !isDirectory {
      throw ExitError(
        .usage,
        "--dir needs a directory, but \(directory) is a file. Use -o \(shellWord(directory))."
      )
    }
  }

  /// Reads the lines of the list or command line. If a list is empty, shows a message and returns no lines.
  private func readLines(_ display: ProgressDisplay) async throws -> [SubmitLine] {
    var reader = SubmissionReader(
      label: "haul get", naming: tree ? .tree : .flat, participle: "downloaded",
      findsDoublePaths: true, display: display,
      describe: { ExitError(from: $0).message ?? "" })
    reader.schemes = WebURL.webSchemes.union(requests.schemes.map(\.argument))
    reader.choices = list.choices
    // With --content-disposition, the server names the files, so equal names in the URLs are no mistake.
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
        "stopped with \(counted(tally.unfinished, "file")) unfinished: cannot write to \(place.directory): \(trouble). Repair this problem, then run the same command again to continue."
      )
    }
    if tally.unfinished > 0 {
      throw ExitError(
        .tryAgain,
        "stopped with \(counted(tally.unfinished, "file")) unfinished. Run the same command again to continue."
      )
    }
    if tally.failed > 0 { throw ExitError(.failed, tally.failures.sentence) }
  }
}
