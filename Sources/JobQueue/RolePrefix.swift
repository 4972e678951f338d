import JobModel
package import Postgres
import Schema

/// The prefix of a pool's role names. Every user can query it.
///
/// Roles belong to the server and not to a database. A pool's prefix is the prefix of the role that owns the pool's schema,
/// even after that role was renamed or the database was restored.
package enum RolePrefix {
  /// The default prefix, for a server with one pool.
  package static let usual = Schema.defaultPrefix

  /// Returns whether role names can start with this prefix without being quoted.
  package static func isValid(_ prefix: String) -> Bool {
    prefix.wholeMatch(of: /[a-z][a-z0-9_]{0,39}/) != nil && prefix != "pg"
      && !prefix.hasPrefix("pg_")
  }

  /// The prefix as an SQL expression; NULL if the schema `haul` is missing or is not Haul's.
  static let sql = """
    (SELECT substring(pg_get_userbyid(n.nspowner)::text FROM '^([a-z][a-z0-9_]{0,39})_admin$')
    FROM pg_namespace n WHERE n.nspname = 'haul')
    """

  /// Returns the prefix of the pool in this database; nil if the database has no pool.
  package static func present(_ connection: Connection) async throws -> String? {
    try await connection.query("SELECT \(sql)")[0].decode(0)
  }

  /// Returns another database in which the owner role with this prefix owns objects, or another schema of this database; nil if
  /// there is none.
  static func holder(of prefix: String, _ connection: Connection) async throws -> String? {
    let rows = try await connection.query(
      """
      SELECT 'the database ' || d.datname FROM pg_shdepend s
      JOIN pg_database d ON d.oid = s.dbid JOIN pg_roles r ON r.oid = s.refobjid
      WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname = $1
        AND d.datname <> current_database()
      UNION ALL SELECT 'the schema ' || n.nspname FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner
      WHERE r.rolname = $1 AND n.nspname <> 'haul'
      ORDER BY 1 LIMIT 1
      """, [PoolRole.admin.name(prefix)])
    return try rows.first?.decode(0)
  }
}

extension Migrator {
  /// The choice of roles for a new pool.
  package struct Roles: Sendable {
    /// The prefix of the role names; nil means the name of the schema.
    package var prefix: String?
    /// Whether the pool may use roles that another pool has. The logins of that pool can then also use this pool.
    package var mayBeShared: Bool

    /// The roles with the default prefix, even if another pool already uses them.
    package static let shared = Roles(mayBeShared: true)

    package init(prefix: String? = nil, mayBeShared: Bool = false) {
      self.prefix = prefix
      self.mayBeShared = mayBeShared
    }
  }

  /// Returns the prefix of an existing pool; if there is no pool, the prefix for a new one.
  static func prefix(_ connection: Connection, _ roles: Roles) async throws -> String {
    let wanted = roles.prefix ?? connection.schema.name
    // A schema without Haul's tables may have been made for a new pool. This user may have no right to look into it.
    let rows = try await connection.query(
      """
      SELECT pg_get_userbyid(n.nspowner)::text, \(RolePrefix.sql),
        EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'migration')
      FROM pg_namespace n WHERE n.nspname = 'haul'
      """)
    if let row = rows.first {
      let present: String? = try row.decode(1)
      let isPool: Bool = try row.decode(2)
      guard let present, isPool || present == wanted else {
        throw JobQueueError.foreignSchema(
          connection.schema, owner: try row.decode(0), admin: PoolRole.admin.name(wanted))
      }
      if isPool {
        guard present == roles.prefix ?? present else { throw JobQueueError.otherPrefix(present) }
        return present
      }
    }
    if roles.prefix == nil, connection.schema != .usual {
      if roles.mayBeShared {
        throw JobQueueError.refused(
          "roles can be shared only with --role-prefix, the prefix of the other pool's roles",
          hint: "For example: --role-prefix haul --share-roles")
      }
      // Someone may have made roles with these names for another purpose. Their logins could then use this pool. An earlier
      // run that failed leaves roles without logins.
      let names = PoolRole.allCases.map { $0.name(wanted) }
      let found = try await connection.query(
        """
        SELECT FROM pg_roles r WHERE r.rolname = ANY ($1::text[]) AND (r.rolcanlogin OR EXISTS (
          SELECT FROM pg_auth_members m JOIN pg_roles u ON u.oid = m.member
          WHERE m.roleid = r.oid AND u.rolname <> ALL ($1::text[]) AND u.rolname <> current_user))
        """, [names])
      if !found.isEmpty, try await RolePrefix.holder(of: wanted, connection) == nil {
        throw JobQueueError.rolesExist(prefix: wanted)
      }
    }
    if !roles.mayBeShared, let holder = try await RolePrefix.holder(of: wanted, connection) {
      throw JobQueueError.rolesTaken(prefix: wanted, by: holder)
    }
    return wanted
  }
}
