import Transfer

/// What `haul check` finds out about a store's directory: each thing apart, so that one that fails hides no other.
package struct StoreProbe: Sendable {
  /// How publishing a file went.
  package enum Publishing: Sendable, Equatable {
    case works
    /// Without `RENAME_NOREPLACE`, by link and unlink.
    case worksByLink
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

  init(_ mount: StoreMount, marker: Result<String, StoreError>) {
    self.mount = mount
    self.marker = marker
  }

  /// Looks at a directory; leaves nothing behind. Blocks while its disk does.
  package static func look(at mount: StoreMount) -> StoreProbe {
    guard let root = try? FileDescriptor.directory(mount.directory) else {
      return StoreProbe(mount, marker: .failure(.noDirectory(mount.directory)))
    }
    var probe = StoreProbe(
      mount, marker: Result { () throws(StoreError) in try Store.marker(mount) })
    probe.space = try? root.space()
    if case .success = probe.marker, let own = root.existingDirectory(".haul") {
      do throws(TransferError) {
        probe.publishing = try own.probePublishing() ? .works : .worksByLink
      } catch {
        probe.publishing = .fails(error.message)
      }
      probe.parts = countParts(own)
    }
    return probe
  }

  /// What cannot be read counts as nothing: writing there has failed as well.
  private static func countParts(_ own: FileDescriptor) -> [String: Int] {
    guard let parts = own.existingDirectory("parts"), let pools = try? parts.names() else {
      return [:]
    }
    var counts: [String: Int] = [:]
    for pool in pools {
      let shards = parts.existingDirectory(pool)
      for shard in (try? shards?.names()) ?? [] {
        let names = try? shards?.existingDirectory(shard)?.names()
        counts[pool, default: 0] += names?.count ?? 0
      }
    }
    return counts
  }
}
