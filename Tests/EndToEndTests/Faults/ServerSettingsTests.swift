import Foundation
import Postgres
import TestSupport
import Testing

/// Databases whose administrator has set limits for every session.
@Suite struct ServerSettingsTests {
  /// 1. Every new session of the database may wait two seconds for a lock or a statement, and none for its next statement.
  /// 2. The commands find the queue locked and wait longer than that.
  /// 3. The lock ends, and all of them do what they were asked for.
  @Test func `limits of the administrator's end no command`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 5000).answer(request, reply)
    }
    try await HaulPool.open { pool in
      let name = pool.database.name
      for setting in [
        "statement_timeout = '2s'", "lock_timeout = '2s'", "idle_session_timeout = '2s'",
        "idle_in_transaction_session_timeout = '2s'",
        "default_transaction_isolation = 'serializable'",
      ] {
        _ = try await pool.admin.execute("ALTER DATABASE \"\(name)\" SET \(setting)")
      }
      try await pool.admin.script("BEGIN; LOCK TABLE haul.queue IN ACCESS EXCLUSIVE MODE")
      let commands = [
        ["submit", origin.url("/a"), "--batch", "b", "--out", "a"], ["check"], ["queues"],
      ]
      let running = try commands.map { try pool.start($0) }
      let observer = try await pool.database.connect()
      try await eventually("all of them to have waited for longer than the limits") {
        let waiting: Int = try await observer.query(
          """
          SELECT count(*) FROM pg_stat_activity WHERE application_name = 'haul' AND wait_event_type = 'Lock'
            AND clock_timestamp() - query_start > interval '2.5 seconds'
          """)[0].decode(0)
        return waiting == commands.count || running.contains { $0.child.output.value.exit != nil }
      }
      await observer.close()
      try await pool.admin.script("COMMIT")
      for (process, command) in zip(running, commands) {
        let exit = try await process.exit()
        #expect(exit == .code(0), "\(command): \(process.child.output.value)")
      }
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      #expect(try pool.files() == ["a"])
    }
  }

  @Test(arguments: ["LATIN1", "EUC_JP", "SQL_ASCII"])
  func `a database of another encoding is refused before anything is made`(
    encoding: String
  ) async throws {
    try await withTestDatabase(.empty) { database in
      let name = "\(database.name)_\(encoding.lowercased())"
      let admin = try await database.connect()
      try await admin.execute(
        "CREATE DATABASE \"\(name)\" ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
      let place = "\(database.conninfo) dbname=\(name)"
      let output = try await ChildProcess.run(
        HaulProcess.path, ["migrate"], environment: ["HAUL_DATABASE_URL": place])
      #expect(output.exit == .code(78))
      #expect(
        output.standardError == [
          "haul migrate: the database \(name) has the encoding \(encoding), but Haul needs UTF8: create a database with 'createdb --encoding UTF8 --template template0 NAME'."
        ])
      let other = try await Connection.connect(
        ConnectionConfiguration(conninfo: place, applicationName: "haul-tests"))
      #expect(
        try await other.query("SELECT to_regnamespace('haul') IS NULL")[0].decode(0, as: Bool.self))
      await other.close()
      let check = try await ChildProcess.run(
        HaulProcess.path, ["check"], environment: ["HAUL_DATABASE_URL": place])
      #expect(check.exit == .code(78))
      #expect(
        check.standardOutput.contains {
          $0.split(separator: " ").starts(with: ["fail", "encoding", encoding[...]])
        })
      try await admin.execute("DROP DATABASE \"\(name)\" WITH (FORCE)")
      await admin.close()
    }
  }

  /// As on a full disk: each call to claim is refused, while heartbeats go on.
  @Test func `a refusal that repeats is one line of the log`() async throws {
    try await HaulPool.open { pool in
      try await pool.admin.script(
        "CREATE SEQUENCE public.calls; GRANT ALL ON public.calls TO PUBLIC")
      let worker = try pool.worker()
      try await worker.event("worker.started")
      try await pool.admin.script(
        """
        CREATE OR REPLACE FUNCTION haul.work(p_worker bigint, p_secret text, p_call bigint, p_endings jsonb,
          p_queues text[], p_free_slots integer) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM nextval('public.calls');
          RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full';
        END $$
        """)
      try await pool.submit("http://h.test/1", to: "1")
      try await eventually("six refused calls") {
        try await pool.value("SELECT last_value FROM public.calls") >= 6
      }
      let told = worker.events("database.lost").filter { $0.text.contains("53100") }
      #expect(told.count == 1)
      worker.signal(SIGKILL)
      try await worker.exit()
    }
  }
}
