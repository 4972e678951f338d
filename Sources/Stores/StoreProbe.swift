import HaulSystem
import HaulTransfer

/// The results of `haul check` for a store's directory. Each check runs separately, so a failed check hides no other result.
package struct StoreProbe: Sendable {
  /// The result of a test that publishes a file.
  package enum Publishing: Sendable, Equatable {
    case works
    /// Publishing works by link and unlink, because the file system does not support `RENAME_NOREPLACE`.
    case worksByLink
    /// Publishing fails. The text is a sentence with the reason.
    case fails(String)
  }

  package var mount: StoreMount
  /// The instance id from the store's marker file, or the error.
  package var marker: Result<String, StoreError>
  /// The free and total bytes of the store's file system; nil if the directory does not exist.
  package var space: (free: Int64, total: Int64)?
  /// The result of publishing a test file; nil if the directory has no marker file, because then nothing is written.
  package var publishing: Publishing?
  /// The number of part files of each pool. The key is the pool's id.
  package var parts: [String: Int] = [:]

  package init(_ mount: StoreMount, marker: Result<String, StoreError>) {
    self.mount = mount
    self.marker = marker
  }

  /// Checks a directory, and leaves no files behind. Blocks while the disk blocks.
  ///
  /// - Parameter pool: the pool whose part files workers will write there; nil for all pools that have part files there.
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
