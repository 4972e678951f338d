import FoundationEssentials
import Glibc
import HaulCLinux
package import HaulSystem
import HaulTransfer

/// A directory that a user has named and that Haul writes files to. The directory may be missing; some commands then create the
/// directory.
///
/// All messages about such directories come from this type.
package struct NamedDirectory: Sendable {
  /// The absolute path, or the path as the user typed it if the working directory has been removed.
  package let path: String
  /// A clause with advice for users who have no permission to write there.
  private let advice: String

  /// Creates a value, and does not access the disk. Messages about missing rights end with `advice`.
  package init(_ path: String, advice: String = "name a directory that this user owns") {
    self.path = Self.absolute(path)
    self.advice = advice
  }

  /// Opens the directory if it exists.
  ///
  /// - Throws: every case of `StoreError` except the cases about markers.
  package func open() throws(StoreError) -> FileDescriptor {
    do throws(SystemError) {
      return try FileDescriptor.directory(path)
    } catch {
      throw obstacle(to: .reading) ?? .unwritable(path, reason: error.reason)
    }
  }

  /// Returns the path of the directory with all symbolic links resolved. (realpath(3))
  ///
  /// - Throws: the errors of ``fault(_:at:)``.
  package func resolved() throws(StoreError) -> String {
    guard let path = unsafe realpath(path, nil) else { throw fault(errno, at: path) }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// Creates the directory and its parents if they are missing, and checks that this user may write in it.
  ///
  /// - Throws: the errors of ``requireRight()``, and errors that appear only on creation, such as a full disk.
  package func make() throws(StoreError) {
    try requireRight()
    let number = Self.failure(making: path)
    if number != 0 { throw fault(number, at: path) }
  }

  /// Returns the error for the system error `number` (errno(3)) at `path`, which is this directory or a path below it.
  package func fault(_ number: Int32, at path: String) -> StoreError {
    switch number {
    case ENOTDIR: .noDirectory(path)
    case EACCES, EPERM:
      .notPermitted("this user has no permission to write to \(path)", advice: advice)
    default: .unwritable(path, reason: SystemError.reason(number))
    }
  }

  /// Checks that this user may write in the directory, or may create it if it is missing. The check writes nothing, so it may
  /// miss problems.
  ///
  /// - Throws: `StoreError.noDirectory`, `.unwritable` or `.notPermitted`.
  package func requireRight() throws(StoreError) {
    if let obstacle = obstacle(to: .writing) { throw obstacle }
  }

  private enum Purpose {
    case reading
    /// The caller wants to write in the directory, or to create it if it is missing.
    case writing
  }

  /// Returns what prevents the purpose, or nil if nothing is found.
  private func obstacle(to purpose: Purpose) -> StoreError? {
    if path.isEmpty { return .noDirectory("''") }
    guard path.hasPrefix("/") else { return fault(ENOENT, at: path) }
    var found = stat()
    // The nearest parent directory that this user can see.
    var ground = path
    var number: Int32 = 0
    while unsafe stat(ground, &found) != 0, ground != "/" {
      if number == 0 { number = errno }
      ground = Self.parent(of: ground)
    }
    guard found.st_mode & S_IFMT == S_IFDIR else { return .noDirectory(ground) }
    if number == ENOENT, purpose == .reading { return .absent(path) }
    if number == EACCES {
      let closed = Self.may(X_OK, ground) ? "the target of \(path)" : ground
      return .notPermitted("this user has no permission to enter \(closed)", advice: advice)
    }
    guard number == 0 || number == ENOENT else { return fault(number, at: path) }
    if Self.may(X_OK | (purpose == .reading ? R_OK : W_OK), ground) { return nil }
    guard errno == EACCES || errno == EPERM else { return fault(errno, at: path) }
    let act = purpose == .reading ? "read" : "write to"
    let fault = "this user has no permission to \(act) \(ground)"
    return number == 0
      ? .notPermitted(fault, advice: advice)
      : .notPermitted("\(path) does not exist, and \(fault)", advice: "\(advice)\(orRoot)")
  }

  /// A hint that says how root can create the directory for the user; empty for root.
  private var orRoot: String {
    geteuid() == 0
      ? ""
      : ", or as root run 'install -d -o \(SystemUser.ownWord) \(shellWord(path))'"
  }

  /// Returns whether this user has the right. If not, errno gives the reason. (faccessat(2))
  private static func may(_ right: Int32, _ path: String) -> Bool {
    unsafe faccessat(AT_FDCWD, path, right, AT_EACCESS) == 0
  }

  /// Creates a directory and its parents. Returns 0 or the error number. The new directories and their entries are durable.
  /// (mkdir(2), fsync(2))
  private static func failure(making path: String) -> Int32 {
    if unsafe mkdir(path, 0o777) == 0 { return failure(syncing: parent(of: path)) }
    if errno == EEXIST { return may(F_OK, "\(path)/") ? 0 : ENOTDIR }
    guard errno == ENOENT, parent(of: path) != path else { return errno }
    let number = failure(making: parent(of: path))
    if number != 0 { return number }
    guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else { return errno }
    return failure(syncing: parent(of: path))
  }

  /// Syncs a directory. Returns 0 or the error number. A file system that cannot sync directories is not an error.
  private static func failure(syncing path: String) -> Int32 {
    let directory = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // The directory may be writable but not readable.
    guard directory >= 0 else { return errno == EACCES ? 0 : errno }
    defer { close(directory) }
    return fsync(directory) == 0 || errno == EINVAL ? 0 : errno
  }

  /// The parent of an absolute path.
  private static func parent(of path: String) -> String {
    let parent = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    return parent.isEmpty ? "/" : String(parent)
  }

  /// Returns the absolute path without `.` and empty components. An empty path stays empty, because it names no directory.
  private static func absolute(_ path: String) -> String {
    let here = FileManager.default.currentDirectoryPath
    if path.isEmpty || here.isEmpty && !path.hasPrefix("/") { return path }
    let whole = path.hasPrefix("/") ? path : here + "/" + path
    return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
  }
}
