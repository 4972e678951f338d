import Postgres
import TestSupport
import Testing

/// A database that loses lines of a submission: whoever submits them is told.
@Suite struct SubmitCountTests {
  @Test(arguments: [
    ("http://a.test/x", 1, 0), ("http://a.test/x http://a.test/y", 2, 1), ("-i LIST", 3, 2),
    // Both steps lose a line.
    ("-i LIST --on-duplicate replace", 3, 1), ("-i LIST --on-duplicate refresh --json", 3, 2),
  ])
  func `a line that the database loses is no success`(
    arguments: String, given: Int, counted: Int
  ) async throws {
    try await HaulPool.open { pool in
      // Called between the count of a step's lines and its first job.
      try await pool.admin.execute(
        """
        CREATE OR REPLACE FUNCTION haul.require_options(
          p_options jsonb, p_submission uuid DEFAULT NULL, p_last bigint DEFAULT NULL) RETURNS void
        LANGUAGE plpgsql AS $$ BEGIN
          DELETE FROM haul.staging WHERE submission = p_submission
            AND line = (SELECT max(line) FROM haul.staging WHERE submission = p_submission);
        END $$
        """)
      let directory = try TemporaryDirectory()
      let list = (1...3).map { "http://a.test/\($0)\n" }.joined()
      let arguments = arguments.replacing("LIST", with: try directory.write(list, to: "list.txt"))
      let output = try await pool.haul(
        ["submit"] + arguments.split(separator: " ").map(String.init))
      #expect(output.exit == .code(78))
      #expect(output.standardOutput == [])
      let sentence =
        "haul submit: Haul sent \(given) URL\(given == 1 ? "" : "s") to the database, but the database counted \(counted). It is possible that some URLs did not become jobs."
      #expect(output.standardError.count == 1)
      #expect(output.standardError.last?.hasPrefix(sentence) == true, "\(output.standardError)")
      #expect(try await pool.value("SELECT count(*) FROM haul.jobs") == counted)
      #expect(try await pool.violations() == [])
    }
  }
}
