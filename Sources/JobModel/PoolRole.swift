/// A role of the database that `haul migrate` makes. What each may do stands in Sources/Schema/Views/zz_grants.sql.
package enum PoolRole: String, CaseIterable, Sendable {
  case monitor, submitter, worker, admin

  /// Its name in a pool whose roles begin with `prefix`.
  package func name(_ prefix: String) -> String { "\(prefix)_\(rawValue)" }

  /// The names of all four in a sentence.
  package static func names(_ prefix: String) -> String {
    let names = allCases.reversed().map { $0.name(prefix) }
    return "\(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")"
  }
}
