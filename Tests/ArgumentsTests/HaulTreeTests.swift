import Testing

@testable import Arguments
@testable import haul

/// Every command that runs, with its line as typed.
private func commands(
  in node: CommandNode, path: String = "haul"
) -> [(node: CommandNode, path: String)] {
  if node.isHidden { return [] }
  if node.parse != nil { return [(node, path)] }
  return node.children.flatMap { commands(in: $0, path: "\(path) \($0.name)") }
}

private func words(_ line: String) -> [String] { ShellWords(line).words }

private func help(_ line: String) -> String? {
  let resolution = Haul.tree.resolve(words(line), environment: [:])
  guard case .text(let text) = resolution else { return nil }
  return text
}

/// The tree of the program itself.
struct HaulTreeTests {
  @Test func `no command has two options of one name or one without help`() {
    #expect(faults(in: Haul.tree.root, path: "haul") == [])
  }

  @Test func `every command has an abstract of one sentence and two examples`() {
    for (node, path) in commands(in: Haul.tree.root) {
      #expect(node.abstract.hasSuffix("."), "\(path)")
      #expect(node.examples.count >= 2, "\(path)")
    }
  }

  /// What lists is the plural, and not a command below the singular; but `store list` is one.
  @Test(arguments: [
    ("host", "hosts"), ("queue", "queues"), ("batch", "batches"),
  ])
  func `who looks for a list below the singular is told the plural`(group: String, lister: String) {
    guard case .usage(let message, let path) = Haul.tree.resolve([group, "list"], environment: [:])
    else {
      Issue.record("\(group) list is taken")
      return
    }
    #expect(path == "haul \(group)")
    #expect(message == "unknown command 'list'. Did you mean 'haul \(lister)'?")
  }

  @Test func `habits are no options, and are answered`() {
    let options = GetCommand.options.flatMap(\.spec.spellings)
    for habit in GetCommand.habits.keys {
      #expect(!options.contains(habit))
      guard
        case .usage(let message, path: "haul get") = Haul.tree.resolve(
          ["get", habit, "http://h/a"], environment: [:])
      else {
        Issue.record("\(habit) is taken")
        continue
      }
      #expect(message.hasPrefix("unknown option '\(habit)': "))
    }
  }

  @Test func `a queue takes every option of its jobs, and none for it`() {
    let settable = Set(QueueSetCommand.options.map(\.spec.long))
    let submitted =
      JobChoices.options.map(\.spec.long) + ["record-digest", "limit-rate", "credential"]
    // Of the hosts that a queue's jobs name no header is right for all.
    #expect(Set(submitted).subtracting(settable) == ["header"])
    for (line, says) in [
      ("--max-running none --limit-rate none --remote-time none", nil),
      ("--max-running 0", "'--max-running' must be a whole number from 1 to 1000000, or none"),
      ("--if-exists never", "'--if-exists' must be fail, skip, replace or rename, or none"),
    ] as [(String, String?)] {
      switch Haul.tree.resolve(words("queue set films \(line)"), environment: [:]) {
      case .command: #expect(says == nil, "\(line)")
      case .usage(let message, _): #expect(says.map(message.contains) == true, "\(message)")
      case let other: Issue.record("\(other)")
      }
    }
  }

  @Test func `every example is a line of its own command`() {
    for (node, path) in commands(in: Haul.tree.root) {
      for example in node.examples {
        let resolution = Haul.tree.resolve(
          Array(words(example.line).dropFirst()), environment: [:])
        guard case .command(_, let resolved) = resolution else {
          Issue.record("'\(example.line)' is no command: \(resolution)")
          continue
        }
        #expect(resolved == path)
      }
    }
  }

  @Test func `help of the program`() {
    #expect(
      help("--help") == """
        OVERVIEW: Download long lists of URLs with a pool of workers.

        Workers on any number of machines claim jobs from a PostgreSQL database,
        download them and take over each other's interrupted work. Times are shown in
        UTC.

        USAGE: haul [<options>] <command>

        OPTIONS:
          --version               Show the version.
          -h, --help              Show help information.

        SET UP:
          migrate                 Bring the database to this program's schema.
          check                   Check database, schema, rights, stores and clock, and
                                  say what to do.
          store                   Manage stores.
          queue                   Manage queues.
          host                    Manage hosts.
          completion              Print a shell's completion script.
          manual                  Write the pages of the manual, one for each command.

        RUN:
          get                     Download URLs here and now, without any set-up.
          up                      Run a whole pool in this terminal: database,
                                  coordinator and workers.
          submit                  Submit URLs as jobs.
          export                  Write jobs as a list that 'haul submit -i' takes.
          worker                  Run a worker: claim jobs, download them, hand over
                                  what is interrupted.
          coordinator             Keep house for the pool: take back work of dead
                                  workers, wake due jobs.
          drain                   Ask workers to stop in order.

        WATCH:
          top                     Watch and steer the pool on a full screen.
          watch                   Follow a batch until all its jobs have ended.
          jobs                    List jobs with their states, the newest first.
          job                     Show all of one job, and its attempts.
          workers                 List workers and whether they live.
          queues                  List queues with what waits and runs in them.
          hosts                   List hosts, and why each starts nothing.
          batches                 List batches with what has become of their jobs.
          batch                   Show batches and wait for them.
          failures                List failed jobs by error class, host and hour.
          metrics                 Print metrics of the pool once, for node_exporter.

        STEER:
          pause                   Hold waiting jobs and stop running ones with their
                                  progress kept.
          resume                  Let paused jobs go on.
          cancel                  End jobs without their files.
          retry                   Queue failed and cancelled jobs again.
          prioritize              Give jobs another priority.
          verify                  Compare finished files with their recorded length and
                                  digest.

          See 'haul <command> --help' for more.

        EXIT CODES:
          0                       success
          1                       some jobs failed or were cancelled
          64                      wrong usage
          65                      bad input, or a name that does not exist
          69                      database unreachable, or a port in use
          74                      input or output failed
          75                      try again later
          77                      not permitted
          78                      wrong configuration
          130                     ended by Ctrl-C; get, up, worker and coordinator stop
                                  in order then, and end with 0 or 75

        """)
  }

  @Test func `help of submit`() {
    #expect(
      help("submit --help") == """
        OVERVIEW: Submit URLs as jobs.

        Everything is read and checked before the first job exists: wrong lines end the
        command with 65 and are listed. What is in the queue already is skipped, and
        queued again if it had failed, so that a submission can be repeated. More than
        100,000 lines are submitted in several steps, and what breaks off between two of
        them goes on with the same command. A file ends up in the queue's store under
        host/path/name.

        With --on-duplicate refresh the sources of completed jobs are asked whether they
        still have the same, by ETag or Last-Modified as they gave it. Where they do,
        not a byte comes and the file stays as it is; where they do not, or the file is
        gone or of another length, it is fetched anew, and the old one stays until the
        new one is there. Options that are not given again stay as they were, a digest
        and a length excepted. What waits or runs brings what its source has then. A
        damaged file is fetched anew by 'haul verify --requeue JOB'.

        A list has one URL a line; blank lines and lines that start with # are skipped.
        It may also be an input file of aria2 (out, dir, checksum and header count),
        TsvHttpData-1.0, JSON lines, or CSV with a header. The last two know the fields
        url, path, digest, length, priority, if_exists, max_attempts, max_bytes,
        max_rate, max_host_wait, accept_unverified_length, record_digest, remote_time,
        connect_timeout, stall_timeout, headers, credential; headers is a list of texts
        in JSON, and with a tab between in CSV. Without --format the name's ending
        (.jsonl, .ndjson, .csv, .tsv) or the first line tells. A file of another length
        or digest than the list says fails. No user name, password or token may be in a
        list, a URL or a header: the database would keep it. Name a credential instead,
        which is a file of the workers'.

        USAGE: haul submit [<options>] [<url> ...]

        ARGUMENTS:
          <url>                   http, https, ftp, ftps or sftp URLs.

        OPTIONS:
          -i, --input <file>      Read a list of URLs; - is standard input.
          --format <format>       How to read the list. (values: plain, aria2, tsv,
                                  jsonl, csv)
          --skip-bad              Leave out lines of the list that are wrong.
          --on-duplicate <policy> What to do where a job has a line's path already: skip
                                  the line if its URL is the same, refresh the file of
                                  such a job if the source has changed, replace the job,
                                  or error. (values: skip, refresh, replace, error;
                                  default: skip)
          --queue <name>          The queue to submit to. (default: default)
                                  [env: HAUL_QUEUE]
          --batch <name>          A name to select these jobs by.
          --priority <n>          From 0, first, to 9, last; 5 otherwise.
          -o, --out <path>        Where a single URL's file goes in the store.
          --checksum <alg=digest> The digest that a single URL's file must have.
          --record-digest[=no]    Keep the SHA-256 of each file for 'haul verify'.
          --credential <name>     What proves who asks, by the name that workers know it
                                  by (haul worker --credentials).
          --limit-rate <size>     At most so many bytes a second, each job by itself.
          --not-before <when>     Start no earlier: 90s, 1h30m, or an RFC 3339 time.
          --wait                  Wait until these jobs have ended, those that were in
                                  the queue already too; with --batch the whole batch.
          -q, --quiet             Say nothing but errors and results.
          --json                  Print JSON, one object a line, for programs.
          -h, --help              Show help information.

        JOB OPTIONS:
          --header <header>       A header to ask with, such as 'Referer:
                                  https://example.org/'; may be repeated. Not to other
                                  origins that a redirect leads to.
          --max-attempts <n>      Fail after so many failures.
          --max-bytes <size>      Fail a job whose file is larger.
          --if-exists <policy>    What to do when a file stands under the final name
                                  already; without it: fail. (values: fail, skip,
                                  replace, rename)
          --accept-unverified-length[=no]
                                  Take a body without length as complete when nothing
                                  else proves it.
          --remote-time[=no]      Give files the time of the source's last change.
          --connect-timeout <duration>
                                  How long a connection may take to be made; without it:
                                  10s.
          --stall-timeout <duration>
                                  How long the source may go without sending, the
                                  answer's head included; without it: 60s.

        DATABASE OPTIONS:
          --database <conninfo>   A libpq connection string or postgresql:// URI;
                                  without it libpq's own environment (PGHOST, PGSERVICE
                                  and so on) counts, else the database of 'haul up'
                                  while that runs. Keep passwords in ~/.pgpass.
                                  [env: HAUL_DATABASE_URL]

        EXAMPLES:
          haul submit https://example.org/a.iso --out a.iso
              One file under a chosen name.
          haul submit -i list.txt --queue films --batch monday --wait
              A list, until all of it has ended; exits with 1 if some failed.
          haul submit https://example.org/b.iso --credential archive --header 'DNT: 1'
              The workers prove who asks by what they know as archive.
          haul submit -i list.txt --skip-bad --on-duplicate replace
              A list without its wrong lines; what is there already becomes what it says
              now.
          haul submit -i list.txt --on-duplicate refresh
              A mirror brought up to date: what has changed is replaced, what is new
              added.

        """)
  }

  @Test func `the version`() {
    #expect(help("version") == help("--version"))
    let lines = help("--version")?.split(separator: "\n") ?? []
    let shape: [Regex<Substring>] = [
      /haul 0\.1\.0/, /libcurl [0-9.]+ \(OpenSSL\/[0-9.]+, nghttp2\/[0-9.]+, zlib\/[0-9.]+\)/,
      /libpq [0-9]+\.[0-9]+/, /OpenSSL [0-9.]+/, /Swift 6\.[0-9](?: or newer)?/, /schema [0-9]+/,
    ]
    #expect(lines.count == shape.count)
    for (line, pattern) in zip(lines, shape) {
      #expect((try? pattern.wholeMatch(in: line)) ?? nil != nil, "\(line)")
    }
  }
}

struct NotBeforeTests {
  @Test(arguments: [
    ("2026-11-21T18:00:00Z", 1_795_284_000.0), ("2026-11-21T19:00:00+01:00", 1_795_284_000),
    ("2026-11-21T13:00:00-05:00", 1_795_284_000), ("2026-11-21T18:00:00.25Z", 1_795_284_000.25),
  ])
  func `a time is read with its offset`(text: String, seconds: Double) throws {
    guard case .at(seconds) = try #require(NotBefore(argument: text)) else {
      Issue.record("\(text) is another time")
      return
    }
  }

  @Test(arguments: ["tomorrow", "2026-11-21", "2026-11-21T18:00:00", "12", "2026-13-01T00:00:00Z"])
  func `a time without its offset is refused, and what is none`(text: String) {
    #expect(NotBefore(argument: text) == nil)
  }
}
