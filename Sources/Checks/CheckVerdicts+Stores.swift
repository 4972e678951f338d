import HaulSystem
package import JobQueue
package import Stores
import Terminal

extension CheckVerdicts {
  /// The facts about the pool's stores in the database. A value is nil if the database could not be queried.
  package struct KnownStores: Sendable {
    package var rows: [StoreRow]?
    /// The pool's id, which is also the name of the directory for the pool's part files in each store.
    package var pool: String?

    /// Creates the facts. Without arguments, nothing is known.
    package init(rows: [StoreRow]? = nil, pool: String? = nil) {
      self.rows = rows
      self.pool = pool
    }
  }

  /// Checks a directory that the user named as a store.
  package static func store(_ probe: StoreProbe, _ known: KnownStores) -> [CheckFinding] {
    let name = probe.mount.name
    let directory = probe.mount.directory
    var findings: [CheckFinding] = []
    switch probe.marker {
    case .failure(.noMarker):
      findings.append(
        .fail(
          "store \(name)", "\(directory) has no store marker",
          "If the directory is on a share, check that the share is mounted. If the directory is new, run 'haul store init \(shellWord(name)) \(shellWord(directory))'."
        ))
    case .failure(.absent(let path, _)):
      findings.append(
        .fail(
          "store \(name)", "\(path) does not exist",
          "Mount or create the directory. For a new store, run 'haul store init \(shellWord(name)) \(shellWord(directory))'."
        ))
    case .failure(let error):
      findings.append(
        .fail("store \(name)", "\(error)", "Check the directory and its permissions."))
    case .success(let marker):
      findings.append(markerKnown(marker, probe.mount, known.rows))
    }
    if let space = probe.space { findings.append(free(name, space.free, of: space.total)) }
    if let publishing = probe.publishing { findings.append(writing(probe.mount, publishing)) }
    return findings + foreignParts(probe, pool: known.pool)
  }

  /// Checks one directory of a store that, according to the database, was initialised on this machine. `marker` is the id in
  /// the directory's marker file. Returns nil if the marker file has the recorded id.
  package static func recorded(_ row: StoreRow, marker: Result<String, StoreError>) -> CheckFinding?
  {
    if case .success(row.marker) = marker { return nil }
    return .warn(
      "store \(row.store)",
      "the directory \(row.root) of this store (instance \(row.instance)) is not mounted",
      "Mount the directory before a worker needs it. If the directory is gone for good, ignore this line."
    )
  }

  private static func markerKnown(
    _ marker: String, _ mount: StoreMount, _ rows: [StoreRow]?
  ) -> CheckFinding {
    let (what, directory) = ("store \(mount.name)", mount.directory)
    guard let rows else {
      return .ok(
        what,
        "\(directory) has a store marker, but Haul could not ask the database whether the marker belongs to this pool"
      )
    }
    guard let row = rows.first(where: { $0.marker == marker }) else {
      return .fail(
        what, "\(directory) has a store marker that this pool does not know",
        "Connect to the database that knows this marker. Or use the directory in this pool too: haul store init --adopt \(mount.name) \(directory)"
      )
    }
    guard row.store == mount.name else {
      return .fail(
        what, "\(directory) is a directory of the store \(row.store)",
        "Use --store \(row.store)=\(directory).")
    }
    return .ok(
      what,
      "\(directory) is instance \(row.instance) of this store, with \(counted(row.workers, "live worker"))"
    )
  }

  /// Returns a finding about the free space of a store, in bytes. It is a warning if less than 5 % or less than 1 GiB is free.
  package static func free(_ store: String, _ free: Int64, of total: Int64) -> CheckFinding {
    let (what, left) = ("store \(store)", HumanFormat.bytes(free))
    let detail = "\(left) of \(HumanFormat.bytes(total)) free"
    return free < total / 20 || free < 1 << 30
      ? .warn(
        what, detail,
        "Free some space. Workers wait while the disk is full, and jobs whose file is too large for the disk fail with disk_full."
      )
      : .ok(what, detail)
  }

  package static func writing(_ mount: StoreMount, _ publishing: StoreProbe.Publishing)
    -> CheckFinding
  {
    let what = "store \(mount.name)"
    switch publishing {
    case .works: return .ok(what, "Haul can create, sync and rename files")
    case .worksByLink:
      return .ok(
        what,
        "Haul can create and sync files. This file system cannot rename a file without replacing another one, so Haul uses link and unlink"
      )
    case .fails(let reason):
      return .fail(
        what, reason,
        "No job can finish in this store. Correct the permissions, and check that the disk is not full or read-only."
      )
    }
  }

  private static func foreignParts(_ probe: StoreProbe, pool: String?) -> [CheckFinding] {
    guard let pool else { return [] }
    return probe.parts.sorted { $0.key < $1.key }.filter { $0.key != pool && $0.value > 0 }.map {
      .warn(
        "store \(probe.mount.name)",
        "the store has \(counted($0.value, "part file")) of another pool, \($0.key)",
        "If that pool is gone, remove \(probe.mount.directory)/.haul/parts/\($0.key).")
    }
  }
}
