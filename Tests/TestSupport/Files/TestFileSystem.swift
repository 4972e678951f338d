import Glibc

/// A file system of a test's own, unmounted when this object goes. Only root can make one.
package final class TestFileSystem: Sendable {
  /// Where it is mounted.
  package let path: String
  /// The file that holds it; nil for a tmpfs.
  private let image: String?
  /// What that file is on, where it is a file system of this one's own.
  private let ground: TestFileSystem?
  private let directory: TemporaryDirectory

  /// Whether mounting works here, loop devices included; for the condition of a test that needs it.
  package static var isPossible: Bool {
    get async {
      guard getuid() == 0 else { return false }
      return (try? await TestFileSystem(ext4: 8 << 20)) != nil
    }
  }

  /// Whether a tmpfs can be mounted here.
  package static var isTmpfsPossible: Bool {
    get async {
      guard getuid() == 0 else { return false }
      return (try? await TestFileSystem(tmpfs: 1 << 20)) != nil
    }
  }

  /// A tmpfs of that many bytes, to run out of space.
  ///
  /// - Throws: ``CommandFailed`` with what mount(8) said.
  package init(tmpfs size: Int64) async throws {
    directory = try TemporaryDirectory()
    path = directory.path
    image = nil
    ground = nil
    try await command("mount", "-t", "tmpfs", "-o", "size=\(size),mode=755", "tmpfs", path)
  }

  /// Takes the mount away although files are open below it. (`umount -l`)
  package func detach() { umount2(path, Int32(MNT_DETACH)) }

  /// Mounts an empty tmpfs where the first one was.
  package func mountAgain() async throws {
    try await command("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
  }

  /// An ext2 in a file of that many bytes: one that cannot set room aside (fallocate(2)).
  ///
  /// - Throws: ``CommandFailed`` with what mkfs.ext2(8) or mount(8) said.
  package convenience init(ext2 size: Int64) async throws {
    try await self.init(made: "mkfs.ext2", size: size, options: "loop")
  }

  /// An ext4 in a file of that many bytes, to lose power on.
  ///
  /// Its journal commits every ten minutes (`commit=600`) instead of every five seconds, so that what
  /// nobody syncs is lost for certain.
  ///
  /// - Throws: ``CommandFailed`` with what mkfs.ext4(8) or mount(8) said.
  package convenience init(ext4 size: Int64) async throws {
    try await self.init(made: "mkfs.ext4", size: size, options: Self.slowJournal)
  }

  /// An ext4 of that many bytes whose device can lose what is written to it: see ``loseWrites(_:)``.
  ///
  /// - Throws: ``CommandFailed`` with what mkfs.ext4(8) or mount(8) said.
  package convenience init(losing size: Int64) async throws {
    let ground = try await TestFileSystem(tmpfs: size + 1 << 20)
    let image = ground.path + "/image"
    try await command("truncate", "-s", "\(size)", image)
    try await command("mkfs.ext4", "-q", "-F", "-b", "4096", image)
    // Whatever ext4 needs for itself has its place in the image now, and is never lost.
    try await command("fallocate", "--length", "\(size)", image)
    try await self.init(
      directory: TemporaryDirectory(), image: image, options: Self.slowJournal, ground: ground)
  }

  /// What is written to blocks that are free now is lost as long as `body` runs, and the kernel is told that it was not written.
  ///
  /// The image has holes in place of these blocks, on a tmpfs that is full. While a page of it becomes free meanwhile, this says
  /// nothing: the loop driver of Linux 6.18 reports a write that finds room for its first part alone as done.
  package func loseWrites<Result>(_ body: () async throws -> Result) async throws -> Result {
    guard let ground else { preconditionFailure("this one's device loses nothing") }
    // Blocks that ext4 has set aside for the next small files count as free again where nothing else is left.
    unlink(fill())
    try await command("sync", "--file-system", path)
    try await command("fstrim", path)
    let filler = ground.fill()
    defer { unlink(filler) }
    return try await body()
  }

  private static let slowJournal = "loop,commit=600"

  private convenience init(made program: String, size: Int64, options: String) async throws {
    let directory = try TemporaryDirectory()
    let image = directory.path("image")
    try await command("truncate", "-s", "\(size)", image)
    try await command(program, "-q", "-F", image)
    try await self.init(directory: directory, image: image, options: options)
  }

  /// What a loss of power at this moment would leave: the image as it is, mounted elsewhere, where the
  /// journal is replayed as after a crash.
  ///
  /// The copy is not atomic: blocks written while it is made may be in it or not, as on a disk that
  /// loses power while it writes. What was synced before the call is in it.
  package func afterPowerLoss() async throws -> TestFileSystem {
    guard let image else { preconditionFailure("a tmpfs does not survive a loss of power") }
    let directory = try TemporaryDirectory()
    let copy = directory.path("image")
    try await command("cp", "--sparse=always", image, copy)
    return try await TestFileSystem(directory: directory, image: copy, options: Self.slowJournal)
  }

  /// Writes a file until nothing more fits, and returns its path.
  package func fill() -> String {
    let filler = path + "/filler"
    let file = open(filler, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    for size in [1 << 20, 4096] {
      let block = [UInt8](repeating: 0, count: size)
      while write(file, block, size) == size {}
    }
    close(file)
    return filler
  }

  /// Whether it refuses every change.
  package func setReadOnly(_ isReadOnly: Bool) async throws {
    try await command("mount", "-o", "remount,\(isReadOnly ? "ro" : "rw")", path)
  }

  /// Whatever writes to it waits for as long as `body` runs: a disk that hangs. (fsfreeze(8))
  package func frozen<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await command("fsfreeze", "-f", path)
    do {
      let result = try await body()
      try await command("fsfreeze", "-u", path)
      return result
    } catch {
      try? await command("fsfreeze", "-u", path)
      throw error
    }
  }

  private init(
    directory: TemporaryDirectory, image: String, options: String, ground: TestFileSystem? = nil
  ) async throws {
    self.directory = directory
    self.image = image
    self.ground = ground
    path = directory.path("mount")
    mkdir(path, 0o755)
    try await command("mount", "-t", "ext4", "-o", options, image, path)
  }

  deinit {
    // Lazily, so that an open file of a failed test does not keep it mounted for ever.
    umount2(path, Int32(MNT_DETACH))
  }
}

/// A program that a test needs did not do its work.
package struct CommandFailed: Error, CustomStringConvertible {
  package let description: String
}

/// Runs a program that must succeed.
package func command(_ program: String, _ arguments: String...) async throws {
  let output = try await ChildProcess.run(program, arguments)
  guard output.exit == .code(0) else {
    throw CommandFailed(
      description: ([program] + arguments + output.standardError).joined(separator: " "))
  }
}
