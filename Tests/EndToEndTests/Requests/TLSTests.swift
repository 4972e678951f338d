import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// A worker at an origin with TLS: whom it believes, and how it shows who it is.
struct TLSTests {
  @Test
  func `a worker believes the authorities of its file, and shows its certificate where it may`()
    async throws
  {
    let content = Representation(seed: 1, length: 100_000).bytes(in: 0..<100_000)
    let origin = try await TLSOrigin(files: ["a": content])
    let home = try TemporaryDirectory()
    let url = { (path: String) in origin.url(path, host: "127.0.0.2") }
    for (name, place) in [("here", url("/")), ("elsewhere", "https://127.0.0.2:1")] {
      let path = try home.write(
        """
        type: client-certificate
        origins: \(place)
        certificate: \(origin.caFile)
        key: \(origin.keyFile)
        """, to: name)
      #expect(chmod(path, 0o600) == 0)
    }
    #expect(chmod(origin.keyFile, 0o600) == 0)
    try await HaulPool.open { pool in
      let submit = { (path: String, out: String, more: [String]) in
        _ = try await pool.haul(["submit", url(path), "--out", out, "--max-attempts", "1"] + more)
      }
      try await submit("/a", "unknown", [])
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      try await submit("/a", "believed", [])
      try await submit("/known/a", "nobody", [])
      try await submit("/known/a", "somebody", ["--credential", "here"])
      try await submit("/known/a", "bound", ["--credential", "elsewhere"])
      let worker = try pool.worker(
        "--ca-file", origin.caFile, "--credentials", home.path, "--exit-when-idle", "--log-level",
        "debug")
      #expect(try await worker.exit() == .code(0))
      let ends: [String] = try await pool.values(
        "SELECT concat_ws(' ', path, state, error) FROM haul.jobs ORDER BY job")
      #expect(
        ends == [
          "unknown failed tls", "believed completed", "nobody failed http_403",
          "somebody completed", "bound failed blocked_credential",
        ])
      for path in ["believed", "somebody"] {
        #expect(FileManager.default.contents(atPath: "\(pool.directory)/\(path)") == Data(content))
      }
      let key = try String(contentsOfFile: origin.keyFile, encoding: .utf8)
        .split(separator: "\n")[1]
      #expect(worker.child.output.value.standardError.allSatisfy { !$0.contains(key) })
    }
  }
}
