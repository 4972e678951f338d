import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// Runs the built program on `database`, or without any.
private func haul(
  _ arguments: [String], on database: TestDatabase? = nil, directory: String? = nil
) async throws -> ChildProcess.Output {
  try await ChildProcess.run(
    HaulProcess.path, arguments,
    environment: ["HAUL_DATABASE_URL": database?.conninfo ?? "host=/nonexistent"],
    directory: directory)
}

/// Gives `body` a migrated database with the queue `default` on a store of a fresh directory.
private func withPool(
  _ body: (TestDatabase, TemporaryDirectory) async throws -> Void
) async throws {
  try await withTestDatabase { database in
    let directory = try TemporaryDirectory()
    let result = try await haul(["store", "init", "films", directory.path], on: database)
    try #require(result.exit == .code(0))
    try await body(database, directory)
  }
}

/// Expects the code, nothing on standard output, the sentence on standard error, and nothing secret.
private func check(
  _ refusal: Refusal, on database: TestDatabase? = nil, directory: String? = nil
) async throws {
  let output = try await haul(refusal.line, on: database, directory: directory)
  let said = Refusal.told(output.standardError.joined(separator: "\n"))
  #expect(output.exit == .code(refusal.code))
  #expect(output.standardOutput == [])
  #expect(said.hasPrefix(refusal.sentence), "\(said)")
  let command = said.prefix { $0 != ":" }
  #expect((refusal.code == 64) == said.hasSuffix("\nSee '\(command) --help'."), "\(said)")
  #expect(!said.contains("hunter2"))
}

struct CommandLineTests {
  @Test(arguments: [
    Refusal("submit", 64, "haul submit: no URL is given. Give URLs, or a list with --input."),
    Refusal(
      "submit --bacth x", 64, "haul submit: unknown option '--bacth'. Did you mean '--batch'?"),
    Refusal("submitt", 64, "haul: unknown command 'submitt'. Did you mean 'submit'?"),
    Refusal(
      "submit http://h/a http://h/b --out a", 64, "haul submit: --out needs exactly one URL.\n"),
    Refusal(
      "get http://h/a http://h/b -o a", 64,
      "haul get: --output needs exactly one URL. Use -d to name the directory.\n"),
    Refusal(
      "submit http://h/a http://h/b --out a --checksum md5=d41d8cd98f00b204e9800998ecf8427e", 64,
      "haul submit: --out and --checksum need exactly one URL.\n"),
    Refusal("submit http://h/a --priority 10", 64, "haul submit: option '--priority' must be"),
    Refusal("pause", 64, "haul pause: no jobs are selected. Give ids,"),
    Refusal("worker", 64, "haul worker: option '--store' is missing."),
    Refusal(
      "verify --sample 0%", 64,
      "haul verify: option '--sample' must be a percentage above 0% and up to 100%, such as 1% or 0.5%, not '0%'."
    ),
    Refusal(
      "submit http://h/a --record-digest", 64,
      "haul submit: unknown option '--record-digest': Haul records the SHA-256 of each file by default. With --no-record-digest, Haul does not record it."
    ),
    Refusal(
      "queue set q --record-digest yes", 64,
      "haul queue set: unknown option '--record-digest': Haul records the SHA-256 of each file by default. With --no-record-digest, Haul does not record it."
    ),
    Refusal("worker --store a=/a --store a=/b", 64, "haul worker: the store a is given twice."),
    Refusal(
      "submit -i /nonexistent/a.txt", 74,
      "haul submit: /nonexistent/a.txt: No such file or directory. Nothing was submitted."),
    Refusal(
      "submit gopher://h/a", 65,
      "haul submit: the URL's scheme is 'gopher', but must be one of ftp, ftps, http, https, sftp. The URL is 'gopher://h/a'. Nothing was submitted."
    ),
    Refusal(
      "submit ftp:/x", 65,
      "haul submit: the URL has too few slashes: it must begin with scheme://host/. The URL is 'ftp:/x'. Nothing was submitted."
    ),
    Refusal(
      "submit films", 65,
      "haul submit: 'films' is not a URL. A URL begins with https://, http://, ftp://, ftps:// or sftp://."
    ),
    Refusal(
      "submit http://me:hunter2@h/a", 65,
      "haul submit: the URL contains a user name or password, which the database would store"
    ),
    Refusal(
      "submit http://h/ http://me:hunter2@[h/a", 65, "haul submit: URL 2: cannot parse the URL"),
    Refusal(
      "submit http://h/a --out ../a", 65,
      "haul submit: the path '../a' has a '.', '..' or empty component. Nothing was submitted."),
    Refusal(
      "submit -i /bin/sh", 65,
      "haul submit: /bin/sh: the input is not text: line 1 has a NUL byte. Nothing was submitted."),
  ])
  func `what is wrong in itself is refused before the database is asked`(
    refusal: Refusal
  ) async throws {
    try await check(refusal)
  }

  @Test func `a malformed URL is named by its line and nothing is submitted`() async throws {
    try await withPool { database, directory in
      let urls = (1...9).map { $0 == 7 ? "http://[h/7" : "http://h/\($0)" }
      try directory.write(urls.joined(separator: "\n"), to: "list.txt")
      let refusal = Refusal(
        "submit -i list.txt", 65, "haul submit: list.txt:7: cannot parse the URL")
      try await check(refusal, on: database, directory: directory.path)
      #expect(try await haul(["jobs", "--json"], on: database).standardOutput == [])
    }
  }

  @Test func `what contradicts the queue is refused`() async throws {
    try await withPool { database, directory in
      let first = try await haul(["submit", "http://h/a", "--out", "x"], on: database)
      #expect(
        first.standardOutput == ["submitted 1 job, 0 existed already, 0 queued again"])
      let digest = "sha-256=\(String(repeating: "0", count: 64))"
      let again = try await haul(
        ["submit", "http://h/a", "--out", "x", "--checksum", digest], on: database)
      #expect(again.standardOutput == ["submitted 0 jobs, 1 existed already, 0 queued again"])
      #expect(
        again.standardError == [
          "haul submit: 1 URL already has a job. Haul does not compare its file with the new digest. To compare a complete file with a new digest, use --on-duplicate refresh"
        ])
      _ = try await haul(["submit", "http://127.0.0.1:8077/a", "--batch", "monday"], on: database)
      for refusal in Refusal.contradictions(storeAt: directory.path) {
        try await check(refusal, on: database)
      }
    }
  }

  @Test func `a store of another database is taken only by whoever says so`() async throws {
    try await withPool { database, directory in
      try await withTestDatabase { other in
        let films = ["store", "init", "films", directory.path]
        let refused = try await haul(films, on: other)
        #expect(refused.exit == .code(78))
        #expect(
          refused.standardError == [
            "haul store init: \(directory.path) is already a store of another pool. Name that pool with "
              + "--database or --schema, or use the directory in this pool too with: haul store init --adopt films \(directory.path)"
          ])
        let worker = try await haul(["worker", "--store", "films=\(directory.path)"], on: other)
        #expect(worker.exit == .code(78))
        #expect(worker.standardError.last?.contains("haul store init --adopt films") == true)
        let adopted = try await haul(films + ["--adopt"], on: other)
        let name = "\(directory.path) is a directory of the store films (instance 1)"
        #expect(
          adopted.standardOutput == [
            "\(name); created the queue films and the queue default, which takes jobs submitted without --queue"
          ])
        // What is known needs no word.
        for database in [other, database] {
          let again = try await haul(films, on: database)
          #expect(again.standardOutput == [name])
        }
      }
    }
  }

  @Test func `a database that is not there, or not for us, is told apart`() async throws {
    try await withTestDatabase { database in
      let connect = "haul jobs: cannot connect to the database"
      let cases: [(String, Int32, String)] = [
        ("host=/nonexistent password=hunter2", 69, "\(connect): connection to server on socket"),
        ("\(database.conninfo) user=scram_test password=hunter2", 78, "\(connect) (28P01): "),
        (
          "\(database.conninfo) user=scram_test", 78,
          "haul jobs: the database demands a password. Check --database, HAUL_DATABASE_URL or ~/.pgpass."
        ),
        ("\(database.conninfo) user=absent", 78, "\(connect) (28000): "),
        ("\(database.conninfo) dbname=absent", 78, "\(connect) (3D000): "),
        (
          "\(database.conninfo) sslmode=never", 78,
          "\(connect): invalid sslmode value: \"never\". Check"
        ),
        (
          "user==password hunter2", 78,
          "haul jobs: the database's connection string must be key=value pairs or a postgresql:// URI"
            + " that libpq understands. Check --database or HAUL_DATABASE_URL."
        ),
        (
          "\(database.conninfo) user=scram_test password=scram_test", 77,
          "haul jobs: this command needs the role haul_monitor. Connect as a user that has this role, or ask"
        ),
      ]
      for (conninfo, code, sentence) in cases {
        try await check(Refusal("jobs --database", code, sentence, last: conninfo))
      }
      let stranger = try await haul(["jobs", "--database", "\(database.conninfo) user=absent"])
      #expect(stranger.standardError.last?.hasSuffix(" 'runuser -u postgres -- haul …'.") == true)
    }
  }

  /// Each role, with lines that it may do and the lines of others that it may not.
  @Test(arguments: [
    ("haul_monitor", ["jobs", "workers", "check"], ["submit http://h/a": "haul_submitter"]),
    ("haul_submitter", ["jobs", "submit http://h/a", "cancel 1"], ["drain 1": "haul_admin"]),
    (
      "haul_worker", ["jobs"],
      ["cancel 1": "haul_submitter", "host set h --cap 2": "haul_admin"]
    ),
    ("haul_admin", ["jobs", "submit http://h/b", "cancel 1", "host set h --cap 2"], [:]),
  ])
  func `what a role lacks is named`(
    role: String, allowed: [String], refused: [String: String]
  ) async throws {
    try await withPool { database, _ in
      _ = try await haul(["submit", "http://h/x"], on: database)
      let place = ["--database", "\(database.conninfo) options='-c role=\(role)'"]
      for line in allowed {
        let output = try await haul(line.split(separator: " ").map(String.init) + place)
        #expect(output.exit == .code(0), "\(line): \(output.standardError)")
      }
      for (line, needed) in refused {
        let output = try await haul(line.split(separator: " ").map(String.init) + place)
        #expect(output.exit == .code(77), "\(line)")
        #expect(
          output.standardError.first?.contains("this command needs the role \(needed).") == true)
      }
    }
  }

  @Test(arguments: ["jobs", "submit http://h/a", "pause 1", "coordinator"])
  func `no command but migrate works without the schema`(line: String) async throws {
    try await withTestDatabase(.empty) { database in
      let name = line.prefix { $0 != " " }
      let problem = "the database has no Haul schema: run 'haul migrate'"
      try await check(
        Refusal(line, line == "coordinator" ? 75 : 78, "haul \(name): \(problem)"), on: database)
    }
  }

  @Test(arguments: ["jobs", "submit http://h/a", "pause 1", "coordinator", "migrate"])
  func `a schema that does not serve the program is left alone`(line: String) async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(
        """
        INSERT INTO haul.migration (version, name) VALUES (999, 'x');
        CREATE OR REPLACE FUNCTION haul.oldest_served_version() RETURNS integer LANGUAGE sql AS 'SELECT 999';
        """)
      await connection.close()
      let name = line.prefix { $0 != " " }
      try await check(
        Refusal(
          line, line == "coordinator" ? 75 : 78,
          "haul \(name): the database has schema version 999, but this program knows"),
        on: database)
    }
  }

  /// The database is upgraded first, and the programs after it.
  @Test(arguments: [
    "jobs", "batches", "submit http://h/a", "pause --queue films", "metrics",
    "worker --store films=DIRECTORY --exit-when-idle",
  ])
  func `a newer schema serves the program of before`(line: String) async throws {
    try await withPool { database, directory in
      let connection = try await database.connect()
      try await connection.execute("INSERT INTO haul.migration (version, name) VALUES (999, 'x')")
      await connection.close()
      let words = line.replacingOccurrences(of: "DIRECTORY", with: directory.path)
      let output = try await haul(words.split(separator: " ").map(String.init), on: database)
      #expect(output.exit == .code(0), "\(output.standardError)")
    }
  }

  @Test func `migrate goes back by force only`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.execute(
        "UPDATE haul.repeatable SET superseded = superseded || digest, digest = 'newer'")
      await connection.close()
      let refusal = "haul migrate: the database has functions and views of a newer program"
      try await check(Refusal("migrate", 78, refusal), on: database)
      let forced = try await haul(["migrate", "--force"], on: database)
      #expect(forced.exit == .code(0), "\(forced.standardError)")
    }
  }

  @Test func `migrate can be repeated`() async throws {
    try await withTestDatabase(.empty) { database in
      let first = try await haul(["migrate", "--share-roles", "--json"], on: database)
      #expect(first.exit == .code(0))
      #expect(first.standardOutput.first?.hasPrefix("{\"applied\":[1") == true)
      let second = try await haul(["migrate"], on: database)
      #expect(
        second.standardOutput == [
          "the schema haul of \(database.name) is up to date, at version \(JobQueue.schemaVersion)"
        ])
    }
  }

  @Test func `roles see and do what they are granted`() async throws {
    try await withPool { database, _ in
      let connection = try await database.connect()
      let role = "monitor_\(database.name)"
      try await connection.script("CREATE ROLE \"\(role)\" LOGIN IN ROLE haul_monitor")
      let conninfo = "\(database.conninfo) user=\(role)"
      let queues = try await haul(["queues", "--json", "--database", conninfo])
      #expect(queues.standardOutput.count == 2)
      let pause = try await haul(["pause", "--queue", "films", "--database", conninfo])
      #expect(pause.exit == .code(77))
      try await connection.script("DROP ROLE \"\(role)\"")
      await connection.close()
    }
  }

  @Test func `jobs are paused, resumed, cancelled and queued again by selector`() async throws {
    try await withPool { database, _ in
      _ = try await haul(["submit", "http://h/a", "http://h/b", "--batch", "x"], on: database)
      let steps = [
        ("retry 1", "no job to retry: 1 job is queued"),
        ("pause --batch x", "2 jobs paused"),
        ("pause --batch x", "no job to pause: 2 jobs are paused"),
        ("retry 1", "no job to retry: 1 job is paused; use 'haul resume' to resume paused jobs"),
        ("cancel --error dns", "no job to cancel: no job matches the selectors"),
        ("resume 1", "1 job resumed"), ("cancel --state paused", "1 job cancelled"),
        ("resume 2", "no job to resume: 1 job is cancelled; use 'haul retry' to queue jobs again"),
        ("retry --host h", "1 job queued again"), ("retry 2", "no job to retry: 1 job is queued"),
        ("submit http://h/a http://h/b", "submitted 0 jobs, 2 existed already, 0 queued again"),
      ]
      for (line, sentence) in steps {
        let output = try await haul(line.split(separator: " ").map(String.init), on: database)
        #expect(output.exit == .code(0), "\(line)")
        #expect(output.standardOutput == [sentence], "\(line)")
      }
      let jobs = try await haul(["jobs", "--json", "--state", "queued"], on: database)
      #expect(jobs.standardOutput.count == 2)
      #expect(jobs.standardOutput.first?.hasPrefix(#"{"job":1,"state":"queued""#) == true)
    }
  }

  /// Root alone can take it away.
  @Test(.enabled("unmounting takes root") { getuid() == 0 })
  func `without proc it says so`() async throws {
    let output = try await ChildProcess.run(
      "unshare",
      ["--mount", "sh", "-c", "umount -l /proc && exec \"$0\" --version", HaulProcess.path])
    #expect(output.exit == .code(78))
    #expect(output.standardError == ["haul: /proc is not mounted, but Haul needs it. Mount /proc."])
  }
}
