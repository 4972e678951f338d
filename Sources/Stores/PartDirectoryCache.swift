package import HaulTransfer
import Synchronization

/// Directories of part files kept open, by their path below the store: at most 256 for a pool.
package final class PartDirectoryCache: Sendable {
  private let opened = Mutex<[String: PartDirectory]>([:])

  /// nil where it is not open.
  package subscript(path: String) -> PartDirectory? {
    get { opened.withLock { $0[path] } }
    set { opened.withLock { $0[path] = newValue } }
  }

  /// Closes the directories once they are unused, because their paths may lead to other directories by now.
  package func forget() { opened.withLock { $0 = [:] } }
}
