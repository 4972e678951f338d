/// A role of the database that `haul migrate` makes. What each may do stands in Sources/Schema/Views/zz_grants.sql.
package enum PoolRole: String, CaseIterable, Sendable {
  case monitor = "haul_monitor"
  case submitter = "haul_submitter"
  case worker = "haul_worker"
  case admin = "haul_admin"
}
