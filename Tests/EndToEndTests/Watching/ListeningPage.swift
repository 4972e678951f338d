import Foundation
import Postgres
import TestSupport
import Testing

/// A coordinator that listens on a port of its own.
struct ListeningPage {
  let process: HaulProcess
  let address: String

  init(_ pool: HaulPool, _ arguments: [String] = [], listen: String = "127.0.0.1:0") async throws {
    process = try pool.start(["coordinator", "--listen", listen] + arguments)
    let line = try await process.event("page.listening")
    address = try #require(line[field: "address"]).replacing("0.0.0.0", with: "127.0.0.1")
  }

  func url(_ path: String) -> String { "http://\(address)\(path)" }

  /// Status line, fields and body, as curl shows them.
  func ask(_ path: String, _ options: String...) async throws -> PageAnswer {
    let output = try await ChildProcess.run(
      "curl", ["-sS", "-i", "--max-time", "20"] + options + [url(path)])
    #expect(output.exit == .code(0), "\(output.standardError)")
    return PageAnswer(output.standardOutput.map { $0.replacing("\r", with: "") })
  }
}

struct PageAnswer {
  let status: String
  let fields: [String: String]
  let body: [String]

  init(_ lines: [String]) {
    status = lines.first.map { String($0.dropFirst("HTTP/1.1 ".count).prefix(3)) } ?? ""
    let head = lines.dropFirst().prefix { !$0.isEmpty }.map {
      $0.split(separator: ": ", maxSplits: 1)
    }
    fields = Dictionary(
      head.map { ($0[0].lowercased(), String($0.last ?? "")) },
      uniquingKeysWith: { first, _ in first })
    body = Array(lines.drop { !$0.isEmpty }.dropFirst())
  }
}

extension ListeningPage {
  /// HTML where text belongs.
  static let hostile = "<img src=x onerror=alert(1)>"

  /// A pool with a transfer that stands half-way, whose path is a trap for a careless page, and a failed one.
  static func withRunning(_ body: (HaulPool, GatedFile) async throws -> Void) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      try await pool.command(
        "submit", file.origin.url("/file"), "--out", "a/\(hostile)", "--batch", hostile)
      let failed = try await pool.submit(file.origin.url("/none"), to: "none")
      let worker = try pool.worker()
      _ = try await file.checkpoint(worker)
      try await pool.wait(for: failed, toBe: "failed")
      try await pool.admin.execute(
        "UPDATE haul.outcome SET message = $1 WHERE job = $2", [hostile, failed])
      try await pool.admin.execute("UPDATE haul.worker SET machine = $1", [hostile])
      try await body(pool, file)
      file.gate.open()
      try await pool.stop(worker)
    }
  }
}
