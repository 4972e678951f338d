import Glibc
import HaulCLinux
import HaulSystem
package import HaulTransfer

/// The signs of workers in a store's directory: empty files `.haul/workers/POOL.WORKER`.
extension Store {
  private static let signsPath = ".haul/workers"
  /// The age in seconds at which signs of workers that did not stop gracefully are removed: a week.
  private static let oldAge = 7 * 86_400

  /// Writes a worker's sign, a file that proves which directory the worker uses. Returns true if the sign was missing.
  ///
  /// Call this function repeatedly. On NFS, a machine sees the changes of other machines in a directory after it has changed
  /// the directory itself. Blocks while the disk blocks.
  package func sign(pool: String, worker: Int64) throws(TransferError) -> Bool {
    let directory = try root.makeDirectories(Self.signsPath)
    let signs = PartDirectory(directory)
    let name = "\(pool).\(worker)"
    let isFresh = unsafe faccessat(directory.raw, name, F_OK, 0) != 0
    try signs.remove("\(name).new")
    _ = try signs.create("\(name).new")
    _ = try signs.rename("\(name).new", to: name)
    return isFresh
  }

  /// Returns the workers of a pool that have a sign, a file that proves which directory they use. Also removes signs that are
  /// older than a week. Blocks while the disk blocks.
  package func signs(pool: String) throws(TransferError) -> Set<Int64> {
    let directory = try root.makeDirectories(Self.signsPath)
    let signs = PartDirectory(directory)
    var found: Set<Int64> = []
    for name in try signs.names(startingWith: "\(pool).") {
      var status = stat()
      if unsafe fstatat(directory.raw, name, &status, 0) == 0,
        status.st_mtim.tv_sec < time(nil) - Self.oldAge
      {
        try signs.remove(name)
      } else if let worker = Int64(name.dropFirst(pool.utf8.count + 1)) {
        found.insert(worker)
      }
    }
    return found
  }

  /// Removes a worker's sign file, and the directory of the signs if it is then empty. Blocks while the disk blocks.
  package func removeSign(pool: String, worker: Int64) {
    guard let directory = root.directory(beneath: Self.signsPath) else { return }
    try? PartDirectory(directory).remove("\(pool).\(worker)")
    _ = root.removeDirectory(Self.signsPath)
  }
}
