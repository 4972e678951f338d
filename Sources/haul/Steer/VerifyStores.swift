import Arguments
import HaulTransfer
import JobQueue
import Stores

/// The stores whose files this machine can read.
struct VerifyStores: Sendable {
  private var verifiers: [String: [FileVerifier]] = [:]
  /// The names of stores that have further instances, which this machine cannot read.
  private var incomplete: Set<String> = []
  /// The ids of the store instances that this machine can read.
  private(set) var instances: [Int] = []

  /// Opens the stores at `mounts`. If `mounts` is empty, looks at each directory in `rows` on this machine, and opens those that
  /// have the recorded marker.
  ///
  /// - Throws: an error if a mount is not a store of the database, or if there is no store.
  init(_ mounts: [StoreMount], among rows: [StoreRow]) throws {
    for mount in mounts { try add(mount, try Self.row(of: mount, among: rows)) }
    if mounts.isEmpty {
      for row in rows {
        let mount = StoreMount(name: row.store, directory: row.root)
        if (try? Store.marker(mount)) == row.marker { try add(mount, row) }
      }
      if instances.isEmpty { throw Self.nothing(among: rows) }
    }
    incomplete = Set(rows.filter { !instances.contains($0.instance) }.map(\.store))
  }

  private mutating func add(_ mount: StoreMount, _ row: StoreRow) throws {
    verifiers[mount.name, default: []].append(try FileVerifier(mount))
    instances.append(row.instance)
  }

  var names: [String] { verifiers.keys.sorted() }

  /// Returns whether a file of the store may be on another machine's disk.
  func isIncomplete(_ store: String) -> Bool { incomplete.contains(store) }

  /// Returns a verifier for each directory of the store. Empty if none is on this machine.
  func verifiers(of store: String) -> [FileVerifier] { verifiers[store, default: []] }

  /// Returns the database row of the store instance at `mount`.
  ///
  /// - Throws: if the store does not exist, or the directory belongs to another store. Without this check, 'haul verify' would
  ///   report all files as missing.
  private static func row(of mount: StoreMount, among rows: [StoreRow]) throws -> StoreRow {
    guard rows.contains(where: { $0.store == mount.name }) else {
      let names = Set(rows.map(\.store)).sorted().joined(separator: ", ")
      throw ExitError(
        .badInput,
        "there is no store \"\(mount.name)\"." + (names.isEmpty ? "" : " Stores: \(names)."))
    }
    let marker = try Store.marker(mount)
    let owner = rows.first { $0.marker == marker }
    if let owner, owner.store == mount.name { return owner }
    let whose = owner.map { "the store \"\($0.store)\"" } ?? "another pool"
    throw ExitError(
      .configuration,
      "store \"\(mount.name)\": the marker in its directory belongs to \(whose). Haul compared no file."
    )
  }

  private static func nothing(among rows: [StoreRow]) -> ExitError {
    let names = Set(rows.map(\.store)).sorted().joined(separator: ", ")
    return ExitError(
      .configuration,
      rows.isEmpty
        ? "this pool has no store yet, so no file can be compared."
        : "Haul found no store of this pool on this machine. Run this command on a machine that mounts a store, or use "
          + "--store NAME=DIRECTORY. Stores: \(names).")
  }
}
