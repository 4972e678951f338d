/// A directory that a worker mounts as a store.
package struct StoreMount: Sendable, Equatable {
  package let name: String
  package let directory: String

  /// Creates a mount. `directory` must contain an instance of the store `name`.
  package init(name: String, directory: String) {
    self.name = name
    self.directory = directory
  }
}
