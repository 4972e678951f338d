import Foundation
import Postgres
import TestSupport
import Testing

/// The page of `haul coordinator --listen` in headless Chromium, as people see it.
struct BrowserTests {
  private static let hasChromium = FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium")
  private static let script = ReadmeTests.readme.deletingLastPathComponent().appending(
    path: "scripts/parts/pictures/browse"
  ).path

  @Test(.enabled(if: hasChromium, "chromium is not there"), arguments: [390, 1280])
  func `a browser shows what runs, as text, and has nothing to complain of`(width: Int) async throws
  {
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
      // The second load begins with what the first had to ask for.
      for _ in 1...2 {
        let output = try await ChildProcess.run(
          Self.script,
          [
            page.url("/"), "--width", "\(width)",
            "--until", "document.querySelector('#running progress')?.value === 50",
            // Its only job has not ended.
            "--until", "document.querySelector('#batches progress')?.value === 50",
            "--until",
            "document.querySelector('#batches .sub').textContent.startsWith('0 of 1 ended · ')",
            "--until",
            "document.querySelectorAll('#failures tbody th, #workers tbody th').length === 2",
            "--eval", "document.querySelector('#running tbody th .file').textContent",
            "--eval", "document.querySelector('#batches tbody th .name').textContent",
            "--eval",
            "document.querySelector('#workers tbody th .name').textContent.includes('<img')",
            "--eval", "document.querySelector('#failures tbody td:last-child span').textContent",
            "--eval", "document.images.length + document.querySelectorAll('[onerror]').length",
            "--eval", "document.documentElement.scrollWidth <= innerWidth",
            "--eval", "document.querySelector('#running progress').getAttribute('aria-label')",
            "--until", "document.getElementById('link').textContent === 'Live'",
          ])
        #expect(output.exit == .code(0), "\(output.standardOutput) \(output.standardError)")
        let hostile = "\"\(ListeningPage.hostile)\""
        #expect(
          output.standardOutput == [
            hostile, hostile, "true", hostile, "0", "true",
            "\"Progress of a/\(ListeningPage.hostile)\"",
            "[]",
          ])
      }
    }
  }

  @Test(.enabled(if: hasChromium, "chromium is not there"), arguments: [390, 1280])
  func `paths are seen to their ends`(width: Int) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await worker.event("worker.started")
      let paths = ["mirror-a", "mirror-b"].flatMap { host in
        ["v1.2", "v1.3"].map {
          "\(host).downloads.example.org/debian/pool/\($0)/linux-image-6.1.0-25-cloud-amd64-unsigned.deb"
        }
      }
      for path in paths {
        try await pool.command("submit", file.origin.url("/file"), "--out", path)
      }
      let page = try await ListeningPage(pool)
      let names = "[...document.querySelectorAll('#running .path')]"
      let output = try await ChildProcess.run(
        Self.script,
        [
          page.url("/"), "--width", "\(width)", "--until", "\(names).length === 4",
          "--eval", "\(names).map((name) => name.textContent).sort().join(' ')",
          "--eval", "\(names).every((name) => name.title === name.textContent)",
          "--eval", "\(names).every(\(Self.isSeenWhole))",
        ])
      #expect(output.exit == .code(0), "\(output.standardOutput) \(output.standardError)")
      #expect(
        output.standardOutput == ["\"\(paths.joined(separator: " "))\"", "true", "true", "[]"])
      file.gate.open()
    }
  }

  /// Whether all text of an element is within its cell.
  private static let isSeenWhole = """
    (name) => {
      const range = document.createRange(), cell = name.parentNode.getBoundingClientRect();
      range.selectNodeContents(name);
      return [...range.getClientRects()].every((row) => row.left >= cell.left && row.right <= cell.right);
    }
    """

  @Test(
    .enabled(if: hasChromium, "chromium is not there"),
    arguments: [([], "rgb(247, 246, 243)"), (["--dark"], "rgb(16, 19, 23)")])
  func `the page is dark where that is preferred, and is found through by keys and by ear`(
    options: [String], background: String
  ) async throws {
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
      let output = try await ChildProcess.run(
        Self.script,
        [page.url("/")] + options + [
          "--until", "document.querySelectorAll('#queues tbody tr').length === 2",
          "--until", "document.querySelector('#chart').childElementCount > 0",
          "--until", "document.querySelector('#running progress') !== null",
          "--eval", "getComputedStyle(document.documentElement).backgroundColor",
          "--eval", "document.querySelector('.skip').focus(), document.activeElement.className",
          "--eval", "document.activeElement.click(), true",
          "--until", "document.activeElement.id === 'running-title'",
          "--eval",
          "[...document.querySelectorAll('table')].every((table) => table.caption.textContent !== '')",
          "--eval",
          "[...document.querySelectorAll('progress')].every((bar) => bar.hasAttribute('aria-label'))",
          "--eval", "document.getElementById('chart-text').textContent !== ''",
        ])
      #expect(output.exit == .code(0), "\(output.standardOutput) \(output.standardError)")
      #expect(
        output.standardOutput == [
          "\"\(background)\"", "\"skip\"", "true", "true", "true", "true", "[]",
        ])
    }
  }

  @Test(.enabled(if: hasChromium, "chromium is not there"))
  func `a browser says when the database is away, and what has become of a batch`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer(
        handler: Site(["/a": Representation(seed: 1, length: 9)]).answer)
      for path in ["/a", "/none"] {
        try await pool.command("submit", origin.url(path), "--batch", "b")
      }
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      try await pool.command("submit", origin.url("/later"), "--batch", "b")
      try await pool.command("pause", "--batch", "b")
      try await pool.command("submit", origin.url("/never"), "--batch", "c")
      try await pool.command("cancel", "--batch", "c")
      let relay = try DatabaseRelay(to: pool.database)
      let page = try await ListeningPage(pool, ["--database", relay.conninfo])
      let browser = try ChildProcess(
        Self.script,
        [
          page.url("/"), "--until", "document.getElementById('link').textContent === 'Live'",
          "--until", "document.querySelector('#batches progress.some-bad') !== null",
          "--until", Self.batch(is: "paused", at: 66),
          "--until", Self.batch(is: "cancelled", at: 0),
          "--eval",
          "document.querySelector('#batches .some-bad').style.getPropertyValue('--good')",
          "--until",
          "document.getElementById('link').textContent === 'The database does not answer'",
          "--eval", "document.getElementById('link').className",
          "--until", "document.getElementById('link').textContent === 'Live'",
          "--eval", "document.body.classList.contains('stale')",
        ])
      try await browser.first("a live page", within: .seconds(60)) {
        $0.standardOutput.contains("\"50%\"") ? () : nil
      }
      relay.partition()
      try await browser.first("the loss", within: .seconds(60)) {
        $0.standardOutput.contains("\"link lost\"") ? () : nil
      }
      relay.restore()
      let output = try await browser.result(within: .seconds(90))
      #expect(output.exit == .code(0))
      #expect(output.standardOutput.prefix(3) == ["\"50%\"", "\"link lost\"", "false"])
    }
  }

  /// A batch of which the page says so, with the bar at so many of a hundred.
  private static func batch(is word: String, at value: Int) -> String {
    """
    [...document.querySelectorAll('#batches tr')].some((row) =>
      row.lastChild.textContent === '\(word)' && row.querySelector('progress').value === \(value))
    """
  }

  @Test(.enabled(if: hasChromium, "chromium is not there"))
  func `a browser says when nobody answers any more`() async throws {
    try await HaulPool.open { pool in
      let page = try await ListeningPage(pool)
      let browser = try ChildProcess(
        Self.script,
        [
          page.url("/"), "--until", "document.getElementById('link').textContent === 'Live'",
          "--eval", "'live'",
          "--until", "document.getElementById('link').textContent.startsWith('Disconnected')",
          "--eval", "document.body.classList.contains('stale')",
          // What says so is not faded like the rest.
          "--eval", "getComputedStyle(document.getElementById('notes')).opacity",
          "--until", "Number(getComputedStyle(document.getElementById('view-pool')).opacity) < 0.7",
        ])
      try await browser.first("a live page", within: .seconds(60)) {
        $0.standardOutput.contains("\"live\"") ? () : nil
      }
      page.process.signal(SIGKILL)
      let output = try await browser.result(within: .seconds(90))
      #expect(output.exit == .code(0))
      #expect(Array(output.standardOutput.dropFirst().prefix(2)) == ["true", "\"1\""])
    }
  }

  /// One that no job waits for is nobody's trouble.
  @Test(.enabled(if: hasChromium, "chromium is not there"))
  func `a browser names the blocked host where jobs wait, and counts several`() async throws {
    try await HaulPool.open { pool in
      let waiting = "waiting.mirrors.example.org"
      try await pool.command("submit", "http://\(waiting)/a", "http://done/a")
      try await pool.command("cancel", "2")
      for host in [waiting, "done"] { try await pool.command("host", "block", host) }
      let page = try await ListeningPage(pool)
      let blocked = "Host \(waiting) is blocked. Its waiting jobs do not start for now."
      let name =
        "[...document.querySelectorAll('#hosts .name')].find((e) => e.title === '\(waiting)')"
      let one = try await ChildProcess.run(
        Self.script,
        [
          page.url("/"), "--width", "390", "--until", Self.note(blocked),
          // More than one line of it, and each label on one.
          "--eval", "\(name).offsetHeight > 1.5 * parseFloat(getComputedStyle(\(name)).lineHeight)",
          "--eval", "\(name).textContent", "--eval", Self.rows(of: name),
        ])
      #expect(one.exit == .code(0), "\(one.standardOutput) \(one.standardError)")
      #expect(
        one.standardOutput == ["true", "\"\(waiting)\"", "[1, 1, 1, 1]", "[]"])
      try await pool.command("submit", "http://other/a")
      try await pool.command("host", "block", "other")
      let two = try await ChildProcess.run(
        Self.script,
        [
          page.url("/"), "--until",
          Self.note("2 hosts are blocked. Their waiting jobs do not start for now."),
        ])
      #expect(two.exit == .code(0), "\(two.standardOutput) \(two.standardError)")
    }
  }

  /// In the words of `haul workers`.
  @Test(.enabled(if: hasChromium, "chromium is not there"))
  func `a browser shows a worker in trouble, and failures that are over as what they were`()
    async throws
  {
    try await HaulPool.open { pool in
      // Refused without asking anybody, and queued again behind the failure.
      try await pool.command("submit", "http://10.0.0.1/a")
      let worker = try pool.worker()
      try await worker.event("job.failed")
      try await pool.command("queue", "pause", "default")
      try await pool.command("retry", "1")
      _ = try await pool.admin.query(
        "UPDATE haul.worker SET closed_stores = jsonb_build_object(instances[1]::text, 'no room')")
      let page = try await ListeningPage(pool)
      let seen = try await ChildProcess.run(
        Self.script,
        [
          page.url("/"), "--until",
          "document.querySelector('#workers tbody td').textContent === 'trouble'",
          "--until",
          "document.getElementById('chart-text').textContent.endsWith(', 1 failure')",
          "--until", "document.getElementById('n-failed').textContent === '0'",
        ])
      #expect(seen.exit == .code(0), "\(seen.standardOutput) \(seen.standardError)")
    }
  }

  /// That the page says so.
  private static func note(_ text: String) -> String {
    "[...document.querySelectorAll('#notes li')].some((note) => note.textContent === '\(text)')"
  }

  /// How many lines each text of an element takes.
  private static func rows(of element: String) -> String {
    """
    [...\(element).childNodes].filter((node) => node.nodeType === 3).map((node) => {
      const range = document.createRange();
      range.selectNode(node);
      return range.getClientRects().length;
    })
    """
  }
}
