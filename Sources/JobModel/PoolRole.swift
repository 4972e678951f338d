/// A database role that `haul migrate` creates. The role's rights are in Sources/Schema/Views/zz_grants.sql.
package enum PoolRole: String, CaseIterable, Sendable {
  case monitor, submitter, worker, admin

  /// Returns the database name of the role in a pool whose role names start with `prefix`.
  package func name(_ prefix: String) -> String { "\(prefix)_\(rawValue)" }

  /// Returns the database names of all four roles as a list for a sentence.
  package static func names(_ prefix: String) -> String {
    let names = allCases.reversed().map { $0.name(prefix) }
    return "\(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")"
  }
}
