import FoundationEssentials
import Glibc
import HaulSystem
import Postgres

/// Starts the server of a cluster in any state: none, starting, ready, stopping or crashed.
///
/// The caller is a user of the server and holds the turn lock. So no other process starts or stops the server meanwhile, except a
/// process that has already begun to stop it. There is no time limit while a process of the server lives: recovery may take long,
/// and the person at the terminal can end the wait.
struct ServerStart {
  let directory: ClusterDirectory
  let turn: FileLock
  let users: FileLock
  let observe: @Sendable (EmbeddedCluster.Step) -> Void
  private let now: () -> ContinuousClock.Instant
  private var said: EmbeddedCluster.Step?
  private var started: ServerProgram?
  private var silence: ContinuousClock.Instant?

  /// How long a server may report that it is ready without answering.
  private static let patience = Duration.seconds(30)
  /// How long processes that this process cannot see may hold the server's lock.
  private static let patienceForLock = Duration.seconds(5)

  init(
    _ directory: ClusterDirectory, turn: FileLock, users: FileLock,
    now: @escaping () -> ContinuousClock.Instant = { .now },
    observe: @escaping @Sendable (EmbeddedCluster.Step) -> Void
  ) {
    self.directory = directory
    self.turn = turn
    self.users = users
    self.now = now
    self.observe = observe
  }

  /// Starts the server if necessary. Returns when the server answers.
  mutating func untilReady() async throws(EmbeddedPostgresError) -> PostmasterFile {
    var pause = Pause()
    while true {
      switch try ServerState.of(directory, note: users.note) {
      case .none:
        if started == nil {
          try await start()
          pause = Pause()
        } else if started?.hasEnded ?? false {
          throw failure
        }
      case .starting:
        if ServerLog.isRecovering(SmallFile.read(directory.log) ?? "") { say(.recovering) }
      case .stopping(let server):
        // If only the note in the users' lock says that the server is stopping, the writer of the note may have been killed
        // before it signalled the server.
        if server.status != .stopping { kill(server.pid, SIGINT) }
        say(.waiting)
      case .ready(let server):
        if try await answers(server) { return server }
      }
      try await pause.next()
    }
  }

  private mutating func say(_ step: EmbeddedCluster.Step) {
    if said != step { observe(step) }
    said = step
  }

  private mutating func start() async throws(EmbeddedPostgresError) {
    let lock = try await takeServerLock()
    // The server inherits the lock, so its processes hold the lock after this release.
    defer { lock.release() }
    let major = try directory.major()
    let installation = try ServerInstallation.choose(
      from: try await ServerInstallation.all(in: directory.location, for: directory.user),
      data: major, in: directory.data)
    if major == nil {
      say(.creating)
      try await ClusterMaker(directory: directory, turn: turn).make(with: installation)
    }
    say(.starting)
    let socketDirectory = try directory.socketDirectory()
    removeLeftFiles(socketDirectory)
    let settings = ServerSettings(directory: directory, socketDirectory: socketDirectory)
    try settings.write()
    let log = try newLog()
    defer { close(log) }
    users.leave(note: "")
    started = try ServerProgram(
      installation.program("postgres"), settings.arguments, as: directory.user,
      in: directory.data, input: lock.descriptor, output: log)
  }

  /// Waits until no process serves the data, and takes the server's lock. Processes outlive a killed postmaster for a moment. A
  /// new server cannot start until they release their shared memory.
  ///
  /// If the server's processes are invisible to this process, as in another container, only the lock shows that the server
  /// runs. So nothing is removed without the lock.
  private mutating func takeServerLock() async throws(EmbeddedPostgresError) -> FileLock {
    let lock = try translating(try FileLock(directory.serverLock))
    // A process that is ending disappears from /proc shortly before it releases the lock.
    var seen = now()
    var pause = Pause()
    while true {
      if ServerProcesses(directory)?.isAnyLeft ?? false {
        seen = now()
      } else if try translating(try lock.tryTake(.exclusive)) {
        return lock
      } else if seen.duration(to: now()) > Self.patienceForLock {
        throw .runsElsewhere(directory.path)
      }
      say(.waiting)
      try await pause.next()
    }
  }

  /// Removes files that name a process that no longer exists. Another process may have its id by now, and PostgreSQL would
  /// then believe that a server runs. No server runs, because the caller holds the server's lock.
  private func removeLeftFiles(_ socketDirectory: String) {
    let socket = "\(socketDirectory)/.s.PGSQL.\(ServerSettings.port)"
    for path in [directory.postmasterFile, socket, "\(socket).lock"] { unsafe unlink(path) }
  }

  private func newLog() throws(EmbeddedPostgresError) -> Int32 {
    unsafe rename(directory.log, "\(directory.log).old")
    let log = unsafe open(
      directory.log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard log >= 0 else { throw .failed(directory.log, errno) }
    return log
  }

  private var failure: EmbeddedPostgresError {
    let text = SmallFile.read(directory.log) ?? ""
    return ServerLog.isDiskFull(text, in: directory.path)
      ? .diskFull(directory.path)
      : .notStarted(ServerLog.lastWords(text), log: directory.log)
  }

  /// Returns whether the server accepts connections. Returns false if it says that it is not ready yet.
  private mutating func answers(
    _ server: PostmasterFile
  ) async throws(EmbeddedPostgresError) -> Bool {
    let configuration = ConnectionConfiguration(
      conninfo: server.conninfo(database: "postgres", user: directory.user),
      applicationName: "haul")
    do {
      await (try Connection.connect(configuration)).close()
      return true
    } catch is CancellationError {
      throw .cancelled
    } catch let error as PostgresError {
      if error.sqlState == .cannotConnectNow {
        silence = nil
        say(.recovering)
        return false
      }
      let now = now()
      let since = silence ?? now
      silence = since
      if error.isTransient && since.duration(to: now) < Self.patience { return false }
      throw .notStarted(
        "the server runs as process \(server.pid), but Haul cannot connect to it: \(error)",
        log: directory.log)
    } catch {
      throw .notStarted("\(error)", log: directory.log)
    }
  }
}
