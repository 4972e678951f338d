import Synchronization

/// The open stores of a worker, with the names of the stores as keys. A store can be opened again after its file system was
/// unmounted and mounted again.
package final class OpenStores: Sendable {
  private let opened: Mutex<[String: Store]>

  /// Opens the store directories. Each directory must already be initialised.
  ///
  /// - Parameter ioThreads: the number of threads for each store.
  package init(_ mounts: [StoreMount], ioThreads: Int) throws(StoreError) {
    var stores: [String: Store] = [:]
    for mount in mounts { stores[mount.name] = try Store(mount, ioThreads: ioThreads) }
    opened = Mutex(stores)
  }

  /// The store of this name, or nil if the worker does not mount it.
  package subscript(name: String) -> Store? { opened.withLock { $0[name] } }

  /// All open stores, in no particular order.
  package var all: [Store] { opened.withLock { Array($0.values) } }

  /// Opens the directory at the path of `store` again, and replaces `store` with the result. Blocks while the disk blocks.
  ///
  /// - Returns: the new store; nil if the directory does not have the instance id of `store`.
  package func reopen(_ store: Store) -> Store? {
    let mount = StoreMount(name: store.name, directory: store.directory)
    guard (try? Store.marker(mount)) == store.marker,
      let new = try? Store(mount, io: store.io), new.marker == store.marker
    else { return nil }
    opened.withLock { $0[store.name] = new }
    return new
  }
}
