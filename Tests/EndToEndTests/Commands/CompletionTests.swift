import Foundation
import Glibc
import TestSupport
import Testing

/// What shells make of `haul completion`: each runs for real on a pool and a directory.
struct CompletionTests {
  /// A completion and what must come of it.
  struct Case: Sendable {
    let line: String
    let words: [String]
  }

  private static let cases = [
    Case(line: "haul st", words: ["store"]), Case(line: "haul jobs --stat", words: ["--state"]),
    Case(line: "haul jobs --state comp", words: ["completed"]),
    Case(line: "haul jobs --batch mond", words: ["monday"]),
    Case(line: "haul jobs --queue da", words: ["data"]), Case(line: "haul drain ", words: ["1"]),
    Case(line: "haul resc", words: ["rescue"]), Case(line: "haul rescue worker ", words: ["1"]),
    Case(line: "haul submit -i li", words: ["list.txt"]),
    Case(line: "haul worker --store da", words: ["data="]),
    Case(line: "haul nonsense ", words: []),
  ]

  /// Runs `script` in `shell`, with the program on its PATH and the database in its environment.
  private func run(
    _ shell: String, _ arguments: [String], _ script: String, database: String, directory: String,
    timeout: String = "30s"
  ) async throws -> [String] {
    let program = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    let output = try await ChildProcess.run(
      shell, arguments + [script],
      environment: [
        "PATH": "\(program):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
        "HAUL_DATABASE_URL": database, "HOME": directory, "HAUL_COMPLETION_TIMEOUT": timeout,
      ], directory: directory)
    #expect(output.exit == .code(0))
    #expect(output.standardError == [])
    return output.standardOutput
  }

  private func withFiles(
    _ body: (TestDatabase, TemporaryDirectory) async throws -> Void
  ) async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h.test:81/a", "--batch", "monday")
      for (path, batch) in [
        "b": "mon $(touch evil)", "c": "me@home", "d": "kk=v w", "e": "mix: colon x",
      ] {
        try await pool.command("submit", "http://h.test:81/\(path)", "--batch", batch)
      }
      let directory = try TemporaryDirectory()
      try directory.write("", to: "list.txt")
      try directory.write("", to: "films/a")
      try directory.write("", to: "of@me=a b")
      let worker = try pool.worker()
      try await eventually("a worker to be named") {
        try await pool.value("SELECT count(*) FROM haul.workers WHERE state = 'alive'") == 1
      }
      try await body(pool.database, directory)
      worker.signal(SIGKILL)
      _ = try await worker.exit()
    }
  }

  /// bash's own variables are set as its line editor sets them, and what that would replace is given.
  private static let bash = """
    source <(haul completion bash)
    compopt() { :; }
    try() {
      COMP_LINE=$1 COMP_POINT=${#1}
      read -ra COMP_WORDS <<<"$1"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
      _haul haul "${1##*[ =:]}"
      echo "${COMPREPLY[*]}"
    }

    """

  @Test func `bash completes commands, options, values, names and paths`() async throws {
    try await withFiles { database, directory in
      let cases =
        Self.cases + [
          Case(line: "haul jobs --host=h.test:", words: ["81"]),
          Case(line: "haul worker --store=data=fi", words: ["films"]),
        ]
      let lines = cases.map { "try '\($0.line)'" }.joined(separator: "\n")
      let output = try await run(
        "bash", ["-c"], Self.bash + "complete -p haul\n" + lines, database: database.conninfo,
        directory: directory.path)
      #expect(output == ["complete -F _haul haul"] + cases.map { $0.words.joined(separator: " ") })
    }
  }

  /// As its line editor has it, which knows what stands in quotation marks.
  @Test(arguments: [
    (#"jobs --batch mon\ "#, #"jobs --batch mon\ \$\(touch\ evil\)"#),
    (#"jobs --batch="mon "#, #"jobs --batch="mon \$(touch evil)""#),
    ("jobs --batch 'mon ", "jobs --batch 'mon $(touch evil)'"),
    ("jobs --batch mond", "jobs --batch monday"), ("jobs --batch me@h", "jobs --batch me@home"),
    (#"jobs --batch "kk=v"\ "#, #"jobs --batch kk=v\ w"#),
    (#"jobs --batch "kk="v"#, #"jobs --batch kk=v\ w"#),
    (#"jobs --batch kk\=v"#, #"jobs --batch kk=v\ w"#),
    (#"jobs --batch "mix:"\ c"#, #"jobs --batch mix:\ colon\ x"#),
    ("submit -i of@m", #"submit -i of\@me\=a\ b"#),
  ])
  func `bash completes a name or a path of any characters so that it is one word`(
    typed: String, line: String
  ) async throws {
    try await withFiles { database, directory in
      let program = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
      // tmux has a PATH of its own.
      let rc = try directory.write(
        "PS1='> '; cd '\(directory.path)'; PATH='\(program)':$PATH; source <(haul completion bash)\n",
        to: "rc")
      let screen = try await TerminalScreen(
        columns: 100, rows: 10,
        environment: [
          "HAUL_DATABASE_URL": database.conninfo, "HAUL_COMPLETION_TIMEOUT": "30s",
          "INPUTRC": "/dev/null",
        ], "bash", ["--rcfile", rc, "-i"])
      try await screen.wait(for: "a prompt") { $0.rows.last == ">" }
      try await screen.type("-l", "haul \(typed)")
      try await screen.type("Tab")
      try await screen.wait(for: "the name") { $0.rows.last == "> haul \(line)" }
    }
  }

  @Test func `a database that is away or does not answer neither blocks nor complains`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let silent = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(silent) }
    try #require(bindUnix(silent, to: directory.path(".s.PGSQL.5432")) && listen(silent, 5) == 0)
    // Each of so many hosts has its own time to answer: far longer than this test waits.
    let hosts = Array(repeating: directory.path, count: 30).joined(separator: ",")
    for conninfo in ["host=/nonexistent", "host=\(hosts)", "no conninfo"] {
      let output = try await run(
        "bash", ["-c"], Self.bash + "try 'haul jobs --batch '; try 'haul st'", database: conninfo,
        directory: directory.path, timeout: "300ms")
      #expect(output == ["", "store"])
    }
  }

  @Test(.enabled("fish is not installed") { await isThere("fish") })
  func `fish completes too`() async throws {
    try await withFiles { database, directory in
      let cases =
        Self.cases + [Case(line: "haul worker --store=data=fi", words: ["--store=data=films/"])]
      let lines = cases.map { "echo (complete -C '\($0.line)' | string replace -r '\\t.*' '')" }
      let output = try await run(
        "fish", ["--no-config", "-c"],
        "source (haul completion fish | psub)\n" + lines.joined(separator: "\n"),
        database: database.conninfo, directory: directory.path)
      // fish also offers what holds the word in the middle; the first begins with it.
      #expect(
        output.map { $0.split(separator: " ").first.map(String.init) } == cases.map(\.words.first))
    }
  }

  @Test(.enabled("zsh is not installed") { await isThere("zsh") })
  func `zsh completes too`() async throws {
    try await withFiles { database, directory in
      for test in Self.cases + [Case(line: "haul worker --store=data=fi", words: ["films/"])] {
        guard let word = test.words.first else { continue }
        // A terminal of zsh's own; after Tab, a key prints the line as it then is.
        let script = """
          zmodload zsh/zpty
          zpty -b z zsh -f -i
          zpty -w z 'PS1=; autoload -U compinit; compinit -u -D; source <(haul completion zsh)'
          zpty -w z 'finish() { print -r -- "<$BUFFER>"; }; zle -N finish; bindkey "^X" finish; print re""ady'
          zpty -r -m z found '*ready*'
          zpty -n -w z $'\(test.line)\\t\\x18'
          zpty -r -m z found '*<haul*>*'
          print -r -- "${${found##*<haul}%%>*}"
          """
        let output = try await run(
          "zsh", ["-f", "-c"], script, database: database.conninfo, directory: directory.path)
        #expect(output.joined().contains(word), "\(test.line): \(output)")
      }
    }
  }

  private static func isThere(_ program: String) async -> Bool {
    (try? await ChildProcess.run(program, ["-c", "exit"]).exit) == .code(0)
  }
}

/// bind(2) of a Unix socket.
private func bindUnix(_ descriptor: Int32, to path: String) -> Bool {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
    }
  }
}
