import Foundation
import TestSupport
import Testing

/// Lists as people have them, submitted to a pool and brought.
struct ListFormatTests {
  /// A list by its format, with `ORIGIN` for the origin's address, and the path it gives to the file `/a`.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    var path = "x/a.bin"
    var says: String?
    var testDescription: String { name }
  }

  private static let file = Representation(seed: 7, length: 5000)

  private static let cases = [
    Case(name: "list.txt", text: "# one\nORIGIN/a\n", path: "HOST/a"),
    Case(
      name: "aria2.txt", text: "ORIGIN/a\tORIGIN/mirror\n  dir=x\n  out=a.bin\n  split=4\n",
      says: "Haul ignores these options of aria2: split"),
    Case(
      name: "transfer", text: "TsvHttpData-1.0\nORIGIN/a\t5000\t\n", path: "HOST/a",
      says: "Haul reads this list as TsvHttpData-1.0"),
    Case(
      name: "list.jsonl", text: "{\"url\":\"ORIGIN/a\",\"path\":\"x/a.bin\",\"length\":5000}\n",
      says: "Haul reads this list as JSON lines"),
    Case(
      name: "list.csv", text: "\u{feff}url,path,length\r\n\"ORIGIN/a\",x/a.bin,5000\r\n",
      says: "Haul reads this list as CSV"),
  ]

  @Test(arguments: cases)
  func `a list in each format is submitted and its file brought`(list: Case) async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let site = Site(["/a": Self.file])
      let origin = try OriginServer(handler: site.answer)
      let text = list.text.replacingOccurrences(of: "ORIGIN", with: origin.url(""))
      let place = try directory.write(text, to: list.name)
      let submitted = try await pool.haul(["submit", "-i", place])
      #expect(submitted.exit == .code(0))
      #expect(submitted.standardOutput == ["submitted 1 job, 0 existed already, 0 queued again"])
      if let says = list.says {
        #expect(submitted.standardError.contains("\(place): \(says)"))
      }
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      let path = list.path.replacingOccurrences(of: "HOST", with: "127.0.0.1_\(origin.port)")
      let found = try Data(contentsOf: URL(filePath: "\(pool.directory)/\(path)"))
      #expect(Array(found) == Self.file.bytes(in: 0..<5000))
    }
  }

  @Test func `a file of another length than the list says fails`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let site = Site(["/a": Self.file])
      let origin = try OriginServer(handler: site.answer)
      let list = try directory.write(
        "{\"url\":\"\(origin.url("/a"))\",\"length\":5001}\n", to: "list.jsonl")
      let waiting = try pool.start(["submit", "-q", "-i", list, "--wait"])
      _ = try await waiting.child.first("the report") { $0.standardOutput.first }
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      let output = try await waiting.child.result()
      #expect(output.exit == .code(1))
      #expect(
        output.notices.first?.hasSuffix(
          "the file has 5000 bytes, but 5001 were expected") == true)
      #expect(output.notices.first?.hasPrefix("haul submit: length: ") == true)
      #expect(try pool.parts() == [])
    }
  }

  @Test func `wrong lines are listed, none is submitted, and they can be left out`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let bad = (1...30).map { "http://u:p@h/\($0)" }
      let list = try directory.write(
        (["http://h/a"] + bad + ["http://h/b"]).joined(separator: "\n"), to: "list.txt")
      let refused = try await pool.haul(["submit", "-i", list])
      #expect(refused.exit == .code(65) && refused.standardOutput == [])
      // One reason is told once, with the first of its lines.
      #expect(refused.standardError.count == 1)
      let said = try #require(refused.standardError.first)
      #expect(said.hasPrefix("haul submit: \(list):2: the URL contains a user name"))
      #expect(said.hasSuffix(" 29 more lines have the same problem. Nothing was submitted."))
      #expect(!refused.standardError.contains { $0.contains("u:p") })
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
      let taken = try await pool.haul(["submit", "-i", list, "--skip-bad"])
      #expect(taken.exit == .code(0))
      #expect(taken.standardOutput == ["submitted 2 jobs, 0 existed already, 0 queued again"])
      #expect(taken.notices.last == "haul submit: skipped 30 lines")
    }
  }

  @Test func `a file that would be a directory of another is told before anything begins`()
    async throws
  {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let list = try directory.write("http://h/blog\nhttp://h/blog/x\n", to: "list.txt")
      let output = try await pool.haul(["submit", "-q", "-i", list])
      #expect(output.exit == .code(65))
      #expect(
        output.notices == [
          "haul submit: \(list):1: other lines use the path \"h/blog\" as a directory. Give this line another path. Nothing was submitted."
        ])
    }
  }

  @Test func `of lines that are wrong in many ways the first twenty are shown`() async throws {
    try await HaulPool.open { pool in
      let bad = (1...25).map { "{\"url\":\"http://h/a\",\"path\":\"../\($0)\"}\n" }
      let directory = try TemporaryDirectory()
      let list = try directory.write(bad.joined(), to: "list.jsonl")
      let output = try await pool.haul(["submit", "-q", "-i", list])
      #expect(output.exit == .code(65))
      let said = output.standardError.filter { $0.hasPrefix("\(list):") }
      #expect(said.count == 20 && said.last?.hasPrefix("\(list):20: the path '../20'") == true)
      #expect(
        output.standardError.suffix(2) == [
          "… and 5 more lines",
          "haul submit: 25 lines are wrong. Nothing was submitted. Use --skip-bad to skip them.",
        ])
    }
  }

  @Test func `wrong lines and lines that contradict the queue are told at once`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      try await pool.command("submit", "http://h/a", "--out", "x")
      let list = try directory.write(
        """
        {"url":"http://h/b","path":"x"}
        {"url":"http://u:p@h/c"}
        {"url":"http://h/d","path":"y"}
        {"url":"http://h/e","path":"y"}

        """, to: "list.jsonl")
      let wrong = [
        "\(list):1: job 1 already downloads another URL to the path \"x\". Give this line another path, or replace the job with --on-duplicate replace.",
        "\(list):2: the URL contains a user name or password, which the database would store. Remove it, and use a credential or a netrc file.",
        "\(list):4: line 3 already downloads another URL to the path \"y\". Give this line another path.",
      ]
      let refused = try await pool.haul(["submit", "-q", "-i", list])
      #expect(refused.exit == .code(65) && refused.standardOutput == [])
      #expect(
        refused.standardError == wrong + [
          "haul submit: 3 lines are wrong. Nothing was submitted. Use --skip-bad to skip them."
        ])
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 1)
      let nowhere = try await pool.haul(["submit", "-q", "-i", list, "--database", "host=/absent"])
      #expect(nowhere.exit == .code(69))
      #expect(nowhere.standardError.first == wrong[1])
      let taken = try await pool.haul(["submit", "-q", "-i", list, "--skip-bad"])
      #expect(taken.standardOutput == ["2 2"])
      #expect(taken.notices == wrong + ["haul submit: skipped 3 lines"])
    }
  }

  @Test func `a list without lines is taken and said, one without a right line is not`()
    async throws
  {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let empty = try directory.write("# nothing\n", to: "empty.txt")
      let output = try await pool.haul(["submit", "-i", empty])
      #expect(output.exit == .code(0))
      #expect(output.standardOutput == ["submitted 0 jobs, 0 existed already, 0 queued again"])
      #expect(output.notices == ["haul submit: found no URL in \(empty)"])
      let page = try directory.write("<html>\n<p>Log in</p>\n", to: "page.txt")
      let refused = try await pool.haul(["submit", "--skip-bad", "-i", page])
      #expect(refused.exit == .code(65) && refused.standardOutput == [])
      #expect(
        refused.standardError.last
          == "haul submit: no line of \(page) is correct. Nothing was submitted.")
    }
  }

  @Test func `lines that want a path that is taken are named with their file`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      try await pool.command("submit", "http://h/a", "--out", "x")
      let list = try directory.write(
        "{\"url\":\"http://h/new\"}\n{\"url\":\"http://h/b\",\"path\":\"x\"}\n", to: "list.jsonl")
      let refused = try await pool.haul(["submit", "-q", "-i", list])
      #expect(refused.exit == .code(65))
      #expect(
        refused.standardError == [
          "haul submit: \(list):2: job 1 already downloads another URL to the path \"x\". Give this line another path, or replace the job with --on-duplicate replace. Nothing was submitted."
        ])
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 1)
      let replaced = try await pool.command(
        "submit", "-q", "-i", list, "--on-duplicate", "replace")
      #expect(replaced == ["1 2"])
      #expect(try await pool.value("SELECT url FROM haul.job WHERE path = 'x'") == "http://h/b")
    }
  }

  @Test func `what is in another batch is told`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "http://h/b", "--batch", "mirror")
      let output = try await pool.haul([
        "submit", "http://h/a", "http://h/b", "http://h/c", "--batch", "other",
      ])
      #expect(
        output.notices == [
          "haul submit: 2 URLs already have jobs in the batch mirror. Haul does not add these jobs to the batch other"
        ])
      #expect(output.standardOutput == ["submitted 1 job, 2 existed already, 0 queued again"])
    }
  }

  @Test func `what waits in another queue is told`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "http://h/b")
      try await pool.command("queue", "create", "night", "--store", "data")
      let output = try await pool.haul(["submit", "http://h/a", "http://h/c", "--queue", "night"])
      #expect(
        output.notices == [
          "haul submit: 1 URL already has a job in the queue default. To move this job to the queue night and download the file again, use --on-duplicate replace"
        ])
      #expect(output.standardOutput == ["submitted 1 job, 1 existed already, 0 queued again"])
      try await pool.command("cancel", "1")
      let again = try await pool.haul(["submit", "http://h/a", "--queue", "night"])
      #expect(
        again.notices == [
          "haul submit: 1 URL already has a job in the queue default. To move this job to the queue night and download the file again, use --on-duplicate replace"
        ])
      #expect(again.standardOutput == ["submitted 0 jobs, 0 existed already, 1 queued again"])
      let first = try await pool.haul(["submit", "http://h/b", "--priority", "0"])
      #expect(
        first.notices == [
          "haul submit: existing jobs keep their priority. Use 'haul prioritize' to change it"
        ])
      #expect(try await pool.value("SELECT priority = 5 FROM haul.job WHERE path = 'h/b'"))
      let named = try await pool.haul(["submit", "http://h/b", "--credential", "archive"])
      #expect(
        named.notices == [
          "haul submit: existing jobs keep their options. To change them and download the files again, use --on-duplicate replace"
        ])
      // What has them keeps none, nor does what the same list has brought.
      for _ in 1...2 {
        let same = try await pool.haul([
          "submit", "http://h/new", "http://h/new", "--credential", "archive",
        ])
        #expect(same.notices == [])
      }
    }
  }

  @Test(arguments: ["jsonl", "csv"])
  func `what is exported can be submitted again`(format: String) async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let digest = "sha-256=" + String(repeating: "0", count: 64)
      let list = try directory.write(
        """
        {"url":"http://h/a?sig=secret","path":"p, q","digest":"\(digest)","length":5,"priority":2}
        {"url":"http://h/b","max_bytes":7,"if_exists":"skip","remote_time":true,"headers":["A: b, \\"c\\"","D: e"]}
        {"url":"http://h/d","headers":"Referer: x","credential":"archive"}
        {"url":"http://h/c"}
        """, to: "list.jsonl")
      try await pool.command("submit", "-q", "-i", list)
      let jobs = "SELECT url || path || priority || options FROM haul.job ORDER BY id"
      let before: [String] = try await pool.values(jobs)
      let exported = try await pool.command("export", "--format", format)
      let file = try directory.write(exported.joined(separator: "\n") + "\n", to: "out")
      let again = try await pool.command("submit", "-i", file)
      #expect(again == ["submitted 0 jobs, 4 existed already, 0 queued again"])

      try await pool.command("cancel", "--state", "queued")
      let left = try await pool.command("export", "--left", "--format", format)
      let cancelled = try await pool.command("export", "--state", "cancelled", "--format", format)
      #expect(left == exported && cancelled == exported)
      let requeued = try await pool.command("submit", "-i", file)
      #expect(requeued == ["submitted 0 jobs, 0 existed already, 4 queued again"])
      #expect(try await pool.values(jobs) == before)
    }
  }

  /// Memory grows with a piece of the list, not with the list.
  @Test func `200,000 lines from a pipe take no more memory than 20,000`() async throws {
    try await HaulPool.open { pool in
      var peaks: [Int] = []
      for count in [20_000, 200_000] {
        // Of its only child the largest resident size, in KiB (getrusage(2)).
        let script = """
          import resource, subprocess, sys
          lines = (b"http://h%d/%d/%d\\n" % (i % 1000, \(count), i) for i in range(\(count)))
          child = subprocess.Popen([sys.argv[1], "submit", "-i", "-"], stdin=subprocess.PIPE)
          child.communicate(b"".join(lines))
          print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
          """
        let child = try ChildProcess(
          "python3", ["-c", script, HaulProcess.path],
          environment: ["HAUL_DATABASE_URL": pool.database.conninfo])
        let output = try await child.result(within: .seconds(300))
        #expect(
          output.standardOutput.first
            == "submitted \(count) jobs, 0 existed already, 0 queued again")
        peaks.append(try #require(output.standardOutput.last.flatMap { Int($0) }))
      }
      #expect(peaks[1] < peaks[0] + (16 << 10), "\(peaks) KiB")
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 220_000)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 0)
      #expect(try await pool.violations() == [])
    }
  }
}

extension ChildProcess.Output {
  /// What a submission says besides that nobody serves the queue.
  var notices: [String] {
    standardError.filter { !$0.contains("no worker serves the queue") }
  }
}
