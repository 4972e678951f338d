import Synchronization

/// The stores that a worker has open, by name. One can be opened again after its mount has gone and come back.
package final class OpenStores: Sendable {
  private let opened: Mutex<[String: Store]>

  /// Opens directories that were initialised before.
  ///
  /// - Parameter ioThreads: for each store.
  package init(_ mounts: [StoreMount], ioThreads: Int) throws(StoreError) {
    var stores: [String: Store] = [:]
    for mount in mounts { stores[mount.name] = try Store(mount, ioThreads: ioThreads) }
    opened = Mutex(stores)
  }

  /// nil where the worker does not mount it.
  package subscript(name: String) -> Store? { opened.withLock { $0[name] } }

  /// All of them, in no order.
  package var all: [Store] { opened.withLock { Array($0.values) } }

  /// Opens what is at the path of `store` now, in its place. Blocks as the disk does.
  ///
  /// - Returns: nil where that is not the same instance of the store.
  package func reopen(_ store: Store) -> Store? {
    let mount = StoreMount(name: store.name, directory: store.directory)
    guard (try? Store.marker(mount)) == store.marker,
      let new = try? Store(mount, io: store.io), new.marker == store.marker
    else { return nil }
    opened.withLock { $0[store.name] = new }
    return new
  }
}
