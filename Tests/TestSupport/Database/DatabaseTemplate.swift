import JobQueue
package import Postgres

/// Brings an empty database to the newest version of Haul's schema, once a test process.
package func prepareTemplate(_ connection: Connection) async throws {
  _ = try await Migrator.migrate(connection, roles: .shared)
}
