import HaulSystem
import HaulTransfer

/// What `haul check` finds out about a store's directory: each thing apart, so that one that fails hides no other.
package struct StoreProbe: Sendable {
  /// How publishing a file went.
  package enum Publishing: Sendable, Equatable {
    case works
    /// Without `RENAME_NOREPLACE`, by link and unlink.
    case worksByLink
    /// Why, as a sentence of its own.
    case fails(String)
  }

  package var mount: StoreMount
  /// The instance id in its marker.
  package var marker: Result<String, StoreError>
  /// Bytes of its file system; nil where there is no directory.
  package var space: (free: Int64, total: Int64)?
  /// nil where there is no marker: nothing is written then.
  package var publishing: Publishing?
  /// Part files by the id of the pool they belong to.
  package var parts: [String: Int] = [:]

  package init(_ mount: StoreMount, marker: Result<String, StoreError>) {
    self.mount = mount
    self.marker = marker
  }

  /// Looks at a directory; leaves nothing behind. Blocks while its disk does.
  ///
  /// - Parameter pool: whose part files are to be written there; nil = those of all pools that have some.
  package static func look(at mount: StoreMount, pool: String? = nil) -> StoreProbe {
    let directory = Store.directory(of: mount)
    let root: FileDescriptor
    do throws(StoreError) {
      root = try Store.open(mount)
    } catch {
      return StoreProbe(mount, marker: .failure(error))
    }
    var probe = StoreProbe(
      mount, marker: Result { () throws(StoreError) in try Store.marker(mount) })
    probe.space = try? root.space()
    if case .success = probe.marker, let own = root.directory(beneath: ".haul") {
      probe.publishing = publishing(
        below: root, own, directory.path, pools: pool.map { [$0] } ?? own.names(in: "parts"))
      for pool in own.names(in: "parts") {
        let shards = own.names(in: "parts/\(pool)")
        probe.parts[pool] = shards.reduce(0) { $0 + own.names(in: "parts/\(pool)/\($1)").count }
      }
    }
    return probe
  }

  private static func publishing(
    below root: FileDescriptor, _ own: FileDescriptor, _ directory: String, pools: [String]
  ) -> Publishing {
    do throws(StoreError) {
      try Store.requireRight(to: root, directory, pools: pools)
    } catch {
      return .fails("\(error)")
    }
    do throws(TransferError) {
      return try own.probePublishing() ? .works : .worksByLink
    } catch {
      return .fails("\(directory)/.haul: \(error.message)")
    }
  }
}
