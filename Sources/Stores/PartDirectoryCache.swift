package import HaulTransfer
import Synchronization

/// A cache of open directories of part files. The key is the path below the store. It holds at most 256 directories per pool.
package final class PartDirectoryCache: Sendable {
  private let opened = Mutex<[String: PartDirectory]>([:])

  /// The open directory at `path`; nil if it is not open.
  package subscript(path: String) -> PartDirectory? {
    get { opened.withLock { $0[path] } }
    set { opened.withLock { $0[path] = newValue } }
  }

  /// Forgets all directories, because their paths may lead to other directories by now. A directory is closed when it is no
  /// longer used.
  package func forget() { opened.withLock { $0 = [:] } }
}
