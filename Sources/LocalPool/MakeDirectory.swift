import CLinux
import Glibc
import Worker

/// Makes `path`, with its parents, where it is missing, and makes sure that it is a directory.
///
/// - Throws: `unwritable`, with the system's reason.
func makeDirectory(_ path: String) throws(StoreError) {
  let number = failure(making: path)
  guard number == 0 else {
    throw .unwritable(path, reason: unsafe String(cString: haul_error_text(number)))
  }
}

/// 0, or the error number. (mkdir(2))
private func failure(making path: String) -> Int32 {
  if unsafe mkdir(path, 0o777) == 0 { return 0 }
  if errno == EEXIST { return isDirectory(path) ? 0 : ENOTDIR }
  let parent = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
  guard errno == ENOENT, !parent.isEmpty else { return errno }
  let number = failure(making: String(parent))
  if number != 0 { return number }
  return unsafe mkdir(path, 0o777) == 0 || errno == EEXIST ? 0 : errno
}

private func isDirectory(_ path: String) -> Bool {
  let file = unsafe open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)
  if file >= 0 { close(file) }
  return file >= 0
}
