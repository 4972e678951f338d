import FoundationEssentials
import Glibc
import HaulSystem

/// Creates a cluster's data directory completely or not at all: creates it under another name, and renames it once it is durable.
struct ClusterMaker {
  let directory: ClusterDirectory
  let turn: FileLock

  func make(with installation: ServerInstallation) async throws(EmbeddedPostgresError) {
    try await removeLeftovers()
    let user = directory.user
    try directory.make(directory.newData, owner: user.id, group: user.group, mode: 0o700)
    // initdb syncs its files before it ends.
    let (output, succeeded) = try await ServerProgram.run(
      installation.program("initdb"),
      [
        "--pgdata", directory.newData, "--username", ServerSettings.role, "--auth-local", "peer",
        "--auth-host", "reject", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-clean",
        "--no-instructions",
      ], as: user, holding: turn)
    guard succeeded else {
      let isFull = ServerLog.isDiskFull(output, in: directory.path)
      try await removeLeftovers()
      throw isFull ? .diskFull(directory.path) : .notCreated(ServerLog.lastWords(output))
    }
    guard unsafe rename(directory.newData, directory.data) == 0 else {
      throw .failed(directory.data, errno)
    }
    try syncDirectory()
  }

  /// Removes the files that a killed initdb left. Does so as the user who owns these files, because they may contain links.
  func removeLeftovers() async throws(EmbeddedPostgresError) {
    let path = directory.newData
    guard ClusterDirectory.status(path) != nil else { return }
    // rm cannot remove the directory itself, whose parent belongs to root. That is not an error.
    _ = try await ServerProgram.run(
      "/bin/rm", ["-rf", "--", path], as: directory.user, holding: turn)
    guard unsafe rmdir(path) == 0 || errno == ENOENT else { throw .failed(path, errno) }
  }

  private func syncDirectory() throws(EmbeddedPostgresError) {
    let opened = unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw .failed(directory.path, errno) }
    defer { close(opened) }
    guard fsync(opened) == 0 else { throw .failed(directory.path, errno) }
  }
}
