import Foundation
import Glibc
import TestSupport
import Testing

/// What the program says to a user who may not write where it is told to, and that its advice is of use.
@Suite(.enabled("becoming another user takes root") { await OrdinaryUser.isPossible })
struct OrdinaryUserTests {
  /// Does as root what stands in single quotation marks at the end of a sentence.
  private static func follow(_ sentence: String?) async throws {
    let advice = try #require(sentence?.firstMatch(of: /as root,? run '([^']+)'\.$/)?.1)
    let done = try await ChildProcess.run("/bin/sh", ["-c", String(advice)])
    #expect(done.exit == .code(0), "\(done.standardError)")
  }

  private static let output = "name another directory with --dir DIR"
  private static let store = "name another directory with --store DIR"
  private static let manual =
    "name a directory that you can write to, such as ~/.local/share/man/man1"

  /// `PLACE` is root's, and its directory `closed` nobody else's to enter.
  private static let refusals: [(command: String, sentence: String)] = [
    ("get http://h/a -d PLACE", "this user has no permission to write to PLACE: \(output)."),
    ("get http://h/a", "this user has no permission to write to PLACE: \(output)."),
    (
      "get http://h/a -d PLACE/new/a",
      "PLACE/new/a does not exist, and this user has no permission to write to PLACE: \(output), or as root run 'install -d -o nobody PLACE/new/a'."
    ),
    (
      "get http://h/a -d PLACE/closed",
      "this user has no permission to write to PLACE/closed: \(output)."
    ),
    ("get http://h/a -d closed/a", "this user has no permission to enter PLACE/closed: \(output)."),
    (
      "get http://h/a -d link",
      "this user has no permission to enter the target of PLACE/link: \(output)."
    ),
    (
      "up",
      "PLACE/downloads does not exist, and this user has no permission to write to PLACE: \(store), or as root run 'install -d -o nobody PLACE/downloads'."
    ),
    (
      "up --store new",
      "PLACE/new does not exist, and this user has no permission to write to PLACE: \(store), or as root run 'install -d -o nobody PLACE/new'."
    ),
    ("up --store PLACE", "this user has no permission to write to PLACE: \(store)."),
    ("manual PLACE", "this user has no permission to write to PLACE: \(manual)."),
    (
      "manual man/man1",
      "PLACE/man/man1 does not exist, and this user has no permission to write to PLACE: \(manual), or as root run 'install -d -o nobody PLACE/man/man1'."
    ),
  ]

  @Test(arguments: refusals)
  func `a directory is refused before anything is made or started`(
    command: String, sentence: String
  ) async throws {
    let (closed, own) = (try TemporaryDirectory(), try TemporaryDirectory())
    #expect(mkdir(closed.path("closed"), 0o700) == 0)
    #expect(symlink("closed/a", closed.path("link")) == 0)
    #expect(chown(own.path, OrdinaryUser.id, OrdinaryUser.id) == 0)
    let words = command.replacing("PLACE", with: closed.path).split(separator: " ").map(String.init)
    let output = try await OrdinaryUser.run(
      words, environment: ["HAUL_STATE_DIR": own.path("state")], directory: closed.path)
    #expect(output.exit == .code(77))
    #expect(
      output.standardError == [
        "haul \(words[0]): \(sentence.replacing("PLACE", with: closed.path))"
      ])
    #expect(try FileManager.default.contentsOfDirectory(atPath: own.path) == [])
  }

  @Test func `a page of the manual that is root's is not replaced`() async throws {
    let place = try TemporaryDirectory()
    try place.write("", to: "haul.1")
    #expect(chmod(place.path, 0o777) == 0)
    let output = try await OrdinaryUser.run(["manual", place.path])
    #expect(output.exit == .code(77))
    #expect(
      output.standardError == [
        "haul manual: this user has no permission to write to \(place.path("haul.1")): \(Self.manual)."
      ])
  }

  @Test func `a store that has to be made is made as the advice says`() async throws {
    try await HaulPool.open { pool in
      // The server's socket is not that user's to find.
      let relay = try DatabaseRelay(to: pool.database)
      let database = ["HAUL_DATABASE_URL": relay.conninfo]
      let place = try TemporaryDirectory()
      let directory = place.path("films")
      let initialise = ["store", "init", "films", directory]
      let refused = try await OrdinaryUser.run(initialise, environment: database)
      #expect(refused.exit == .code(77))
      #expect(
        refused.standardError == [
          "haul store init: \(directory) does not exist, and this user has no permission to write to \(place.path): "
            + "name a directory that this user owns, or as root run 'install -d -o nobody \(directory)'."
        ])
      try await Self.follow(refused.standardError.last)
      #expect(try await OrdinaryUser.run(initialise, environment: database).exit == .code(0))

      #expect(chmod(directory, 0o700) == 0 && chown(directory, 0, 0) == 0)
      let closed = try await OrdinaryUser.run(initialise, environment: database)
      #expect(closed.exit == .code(77))
      #expect(
        closed.standardError == [
          "haul store init: this user has no permission to read \(directory): name a directory that this user owns."
        ])
    }
  }

  /// Root is no user for workers.
  @Test(arguments: ["", "/.haul"])
  func `a store that root has made is given away as the advice says`(below: String) async throws {
    try await HaulPool.open { pool in
      let closed = pool.directory + below
      #expect(chmod(pool.directory, 0o755) == 0)
      let act = below.isEmpty ? "write to" : "read"
      if !below.isEmpty {
        #expect(chmod(closed, 0o700) == 0 && chmod(pool.directory, 0o777) == 0)
      }
      // The server's socket is not that user's to find.
      let relay = try DatabaseRelay(to: pool.database)
      let database = ["HAUL_DATABASE_URL": relay.conninfo]
      let store = ["--store", "data=\(pool.directory)"]
      let sentence =
        "this user has no permission to \(act) \(closed): the directory belongs to root; as root, run 'chown -R nobody \(closed)'."
      let check = try await OrdinaryUser.run(["check"] + store, environment: database)
      #expect(check.exit == .code(78))
      #expect(check.standardOutput.contains { $0.hasSuffix(sentence.dropLast()) })
      let worker = ["worker", "--exit-when-idle"] + store
      let refused = try await OrdinaryUser.run(worker, environment: database)
      #expect(refused.exit == .code(77))
      #expect(refused.standardError.last == "haul worker: \(sentence)")
      try await Self.follow(refused.standardError.last)
      #expect(try await OrdinaryUser.run(worker, environment: database).exit == .code(0))
    }
  }

  @Test func `credentials of root's are given away as the advice says`() async throws {
    let place = try TemporaryDirectory()
    #expect(chmod(place.path, 0o700) == 0)
    let words = [
      "worker", "--store", "data=/", "--credentials", place.path, "--database", "host=/nonexistent",
    ]
    let refused = try await OrdinaryUser.run(words)
    #expect(refused.exit == .code(78))
    #expect(
      refused.standardError == [
        "haul worker: cannot read \(place.path): this user has no permission; as root, run 'chown nobody \(place.path)'."
      ])
    try await Self.follow(refused.standardError.last)
    // On to what else is wrong here.
    let next = try await OrdinaryUser.run(words)
    #expect(next.standardError.count == 1 && next.standardError.last?.contains(place.path) == false)
  }

  /// Whoever may not even read a store is not told to make another one.
  @Test(arguments: ["", "/.haul/store.json"])
  func `a store of somebody else's is told of as one`(below: String) async throws {
    try await HaulPool.open { pool in
      let closed = pool.directory + below
      if !below.isEmpty {
        for path in ["", "/.haul"] {
          #expect(chown(pool.directory + path, OrdinaryUser.id, OrdinaryUser.id) == 0)
        }
      }
      #expect(chmod(closed, below.isEmpty ? 0o700 : 0o600) == 0)
      let relay = try DatabaseRelay(to: pool.database)
      let advice =
        below.isEmpty
        ? "run haul as the user that owns the directory"
        : "the directory belongs to root; as root, run 'chown -R --reference=\(pool.directory) \(closed)'"
      let command = ["worker", "--exit-when-idle", "--store", "data=\(pool.directory)"]
      let refused = try await OrdinaryUser.run(
        command, environment: ["HAUL_DATABASE_URL": relay.conninfo])
      #expect(refused.exit == .code(77))
      #expect(
        refused.standardError.last
          == "haul worker: this user has no permission to read \(closed): \(advice).")
    }
  }

  @Test(arguments: [
    (
      mode_t(0o644),
      "FILE contains secrets, but other users may read it: as root, run 'chown nobody FILE && chmod 600 FILE'."
    ),
    (
      mode_t(0o600),
      "cannot read FILE: this user has no permission; as root, run 'chown nobody FILE'."
    ),
  ])
  func `a file of secrets that is root's is given away as the advice says`(
    mode: mode_t, sentence: String
  ) async throws {
    let place = try TemporaryDirectory()
    let file = try place.write("machine h login u password hunter2", to: "netrc")
    #expect(chmod(file, mode) == 0)
    let words = ["get", "http://h/a", "--netrc", file, "--dir", "closed"]
    let refused = try await OrdinaryUser.run(words, directory: place.path)
    #expect(refused.exit == .code(78))
    #expect(
      refused.standardError == ["haul get: \(sentence.replacing("FILE", with: file))"])
    try await Self.follow(refused.standardError.last)
    // On to what else this user may not do.
    #expect(try await OrdinaryUser.run(words, directory: place.path).exit == .code(77))
  }
}
