import Foundation
import Postgres
import TestSupport
import Testing

/// Database and disk lose power at the same moment, again and again, in the middle of a run: what the database
/// calls durable is on the disk.
@Suite(.enabled("mounting takes root and loop devices") { await TestFileSystem.isPossible })
struct PowerLossTests {
  /// What a loss of power left: the server's data as it was, and the disk.
  ///
  /// The server crashes first, the disk is copied then: a commit that the crash let through had its bytes synced
  /// before, so they are in the copy. The other way round a checkpoint made between the two would name bytes
  /// that the copy cannot have.
  struct Remains {
    let server: PrivatePostgres
    let disk: TestFileSystem
  }

  private static let rounds = 5
  private static let smallPerRound = 40
  private let smallLength: Int64 = 60_000
  private let step: Int64 = 400_000
  private let longCount = 6
  private var longLength: Int64 { step * Int64(Self.rounds + 2) }
  private var smallCount: Int { Self.smallPerRound * Self.rounds }

  /// Job `n` fetches `/n`; the first few are long.
  private func length(_ number: Int) -> Int64 { number <= longCount ? longLength : smallLength }

  private func origins(_ gates: [Gate]) throws -> [OriginServer] {
    try (1...4).map { address in
      try OriginServer(address: "127.0.0.\(address)") { request, reply in
        let number = Int(request.path.dropFirst()) ?? 0
        var representation = Representation(seed: UInt64(number), length: length(number))
        if number > longCount {
          let round = (number - longCount - 1) / Self.smallPerRound
          representation.gates = [0: gates[round], smallLength / 2: gates[round]]
        } else {
          for (round, gate) in gates.enumerated() {
            representation.gates[step * Int64(round + 1)] = gate
          }
        }
        try representation.answer(request, reply)
      }
    }
  }

  @Test func `what the database calls durable survives a loss of power`() async throws {
    let gates = (0..<Self.rounds).map { Gate("round \($0)") }
    // Keeps the long ones from their end until the last round is over.
    let rest = Gate("rest")
    let origins = try origins(gates + [rest])
    let disk = try await TestFileSystem(ext4: 256 << 20)
    let server = try await PrivatePostgres()
    let pool = try await HaulPool(migrating: server.database)
    try await pool.initialise(disk.path)
    let list = try TemporaryDirectory()
    // Long ones from two origins, small ones from two others.
    let lines = (1...(longCount + smallCount)).map { number in
      let origin = origins[number % 2 + (number <= longCount ? 0 : 2)]
      return origin.url("/\(number)")
    }
    let file = try list.write(lines.joined(separator: "\n"), to: "list")
    try await pool.command("submit", "-i", file)
    let workers = try (1...2).map { _ in
      try pool.worker("-c", "16", "--exit-when-idle", on: disk.path)
    }

    var remains: [Remains] = []
    // The moments: after so many completions or checkpoints of a round.
    let dice = Pattern(seed: 4711).bytes(in: 8..<Int64(8 + Self.rounds))
    for (round, gate) in gates.enumerated() {
      let isAboutCheckpoints = round % 2 == 1
      let event = isAboutCheckpoints ? "job.checkpoint" : "job.completed"
      let more = Int(dice[round]) % (isAboutCheckpoints ? longCount : Self.smallPerRound) + 1
      let before = workers.reduce(0) { $0 + $1.events(event).count }
      gate.open()
      try await eventually("\(more) times \(event)", within: .seconds(60)) {
        workers.reduce(0) { $0 + $1.events(event).count } >= before + more
      }
      try await server.crash()
      let copy = try await disk.afterPowerLoss()
      let remaining = Remains(server: try await server.copy(), disk: copy)
      try await server.start()
      try await check(remaining)
      try await remaining.server.crash()
      remains.append(remaining)
    }
    rest.open()
    for worker in workers { #expect(try await worker.exit(within: .seconds(90)) == .code(0)) }
    try await expectAllDone(on: disk.path, server)
    for remaining in remains { try await finish(remaining) }
  }

  /// Every durable range has its bytes, under the part's name or, once renamed, under the final one; every completed
  /// file is whole.
  private func check(_ remains: Remains) async throws {
    let connection = try await remains.server.database.connect()
    let root = remains.disk.path
    let ranges = try await connection.query(
      """
      SELECT c.job, j.path, (c.resume ->> 'inode')::bigint AS inode, lower(r) AS first, upper(r) AS past
      FROM haul.checkpoint c JOIN haul.job j ON j.id = c.job, unnest(c.durable) r
      """)
    let inodes = try inodes(below: root)
    for row in ranges {
      let (path, inode): (String, Int64) = (try row.decode("path"), try row.decode("inode"))
      let (first, past): (Int64, Int64) = (try row.decode("first"), try row.decode("past"))
      let file = try #require(inodes[UInt64(inode)], "the part of job \(path)")
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
      try handle.seek(toOffset: UInt64(first))
      let bytes = try handle.read(upToCount: Int(past - first)) ?? Data()
      try handle.close()
      #expect(bytes.count == Int(past - first), "durable bytes of job \(path)")
      let pattern = Pattern(seed: UInt64(number(of: path)))
      #expect(pattern.firstDifference(of: Array(bytes), at: first) == nil, "job \(path)")
    }
    let completed: [String] = try await connection.query(
      "SELECT path FROM haul.jobs WHERE state = 'completed'"
    ).map { try $0.decode(0) }
    for path in completed { try expectWhole(path, below: root) }
    #expect(ranges.count + completed.count > 0)
    await connection.close()
  }

  /// Other workers go on from what is left, to the end.
  private func finish(_ remains: Remains) async throws {
    try await remains.server.start()
    let pool = try await HaulPool(remains.server.database)
    // As if the grace after a crash and the leases of the dead were over.
    try await pool.admin.execute("UPDATE haul.worker SET expires_at = clock_timestamp()")
    try await pool.admin.execute(
      """
      UPDATE haul.pulse SET server_start = pg_postmaster_start_time(), round_at = clock_timestamp(),
        grace_until = clock_timestamp()
      """)
    let worker = try pool.worker("--exit-when-idle", on: remains.disk.path)
    #expect(try await worker.exit(within: .seconds(90)) == .code(0))
    try await expectAllDone(on: remains.disk.path, remains.server)
    try await remains.server.crash()
  }

  private func expectAllDone(on root: String, _ server: PrivatePostgres) async throws {
    let connection = try await server.database.connect()
    let unfinished: [String] = try await connection.query(
      "SELECT concat_ws(' ', path, state, error, message) FROM haul.jobs WHERE state <> 'completed'"
    ).map { try $0.decode(0) }
    #expect(unfinished == [])
    let broken: [String] = try await connection.query(
      "SELECT \"check\" FROM haul.health WHERE violations <> 0"
    ).map { try $0.decode(0) }
    #expect(broken == [])
    let paths: [String] = try await connection.query("SELECT path FROM haul.job").map {
      try $0.decode(0)
    }
    await connection.close()
    #expect(paths.count == longCount + smallCount)
    for path in paths { try expectWhole(path, below: root) }
    let files = try FileTree.files(below: root).filter { !$0.hasPrefix(".haul/workers/") }
    #expect(files == (paths + [".haul/store.json"]).sorted())
  }

  private func expectWhole(_ path: String, below root: String) throws {
    let number = number(of: path)
    let difference = try FileTree.firstDifference(
      of: "\(root)/\(path)", from: Pattern(seed: UInt64(number)), length: length(number))
    #expect(difference == nil, "job \(path)")
  }

  /// A job's path is host/number.
  private func number(of path: String) -> Int { Int(path.split(separator: "/").last ?? "") ?? 0 }

  private func inodes(below root: String) throws -> [UInt64: String] {
    var found: [UInt64: String] = [:]
    for name in try FileTree.files(below: root) {
      let path = "\(root)/\(name)"
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      if let inode = attributes[.systemFileNumber] as? Int { found[UInt64(inode)] = path }
    }
    return found
  }
}
