/// A directory that a worker mounts as a store.
package struct StoreMount: Sendable, Equatable {
  package let name: String
  package let directory: String

  /// Creates a mount. `directory` must be a directory of the store `name`, with the marker file of that store.
  package init(name: String, directory: String) {
    self.name = name
    self.directory = directory
  }
}
