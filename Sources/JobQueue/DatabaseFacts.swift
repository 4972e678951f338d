package import JobModel

/// Facts about a database that any user can read, even if Haul's schema is missing.
package struct DatabaseFacts: Sendable, Decodable, Equatable {
  /// The server's version as text, such as `15.20`.
  package var server: String
  package var serverNumber: Int
  package var database: String
  /// The name of the database's encoding in PostgreSQL, such as `UTF8`.
  package var encoding: String
  package var user: String
  /// The time of the query, in seconds since 1970 by the database's clock.
  package var time: Double
  package var maxConnections: Int
  /// The number of the server's connections that only superusers may use.
  package var reservedConnections: Int
  /// The number of open connections to all databases of the server.
  package var connections: Int
  /// The names of the pool's roles that exist. A complete pool has four roles.
  package var roles: [String]
  /// Whether the database has a schema `haul`, even if its migration is incomplete.
  package var hasSchema: Bool
  package var may: Rights
  /// The logins that may use the pool but have no time limit on idle transactions (idle_in_transaction_session_timeout). The
  /// names are quoted for use in SQL.
  package var patientLogins: [String]
  /// Whether this user can see the activity of other users' sessions.
  package var seesAllSessions: Bool
  package var oldest: HeldSnapshot?
  package var standby: StandbySnapshot?

  /// The rights of this user in the pool. All values are false if Haul's schema is missing.
  package struct Rights: Sendable, Decodable, Equatable {
    package var work: Bool
    package var submit: Bool
    package var watch: Bool
    package var administer: Bool
    /// The prefix of the pool's role names.
    package var prefix: String

    package init(
      work: Bool, submit: Bool, watch: Bool, administer: Bool, prefix: String = RolePrefix.usual
    ) {
      self.prefix = prefix
      self.work = work
      self.submit = submit
      self.watch = watch
      self.administer = administer
    }
  }

  /// The session or prepared transaction that has prevented PostgreSQL from removing dead rows of this database for the longest
  /// time.
  package struct HeldSnapshot: Sendable, Decodable, Equatable {
    /// The process id of the session's server process; nil for a prepared transaction.
    package var pid: Int32?
    /// The name of the session's application, or of the prepared transaction.
    package var name: String
    package var user: String?
    /// The time since the transaction began, in seconds.
    package var seconds: Double
  }

  /// The standby that has prevented PostgreSQL from removing dead rows for the longest time (hot_standby_feedback).
  package struct StandbySnapshot: Sendable, Decodable, Equatable {
    /// The name of the standby for a sentence: `the replication slot NAME` or `the standby NAME`.
    package var name: String
    /// The number of transactions that have begun since the snapshot of the standby was taken.
    package var transactions: Int

    /// Creates the snapshot of a standby.
    package init(name: String, transactions: Int) {
      self.name = name
      self.transactions = transactions
    }
  }
}

/// A row of the view `haul.vitals`: a measured value of a resource that the pool depends on.
package struct VitalRow: Sendable, Decodable, Equatable {
  package let vital: String
  /// The table, queue or user that the value is about; nil if the value is about the whole pool.
  package let subject: String?
  /// The measured value; nil if nothing was measured yet.
  package let value: Double?
  package let unit: String
  package let alarming: Bool
  package let meaning: String
}

/// A row of the view `haul.health`: an invariant of the pool's tables, with the number of its violations.
package struct HealthRow: Sendable, Decodable, Equatable {
  package let check: String
  package let violations: Int
  package let meaning: String
}

extension PoolRole {
  /// Returns whether a user with the rights `rights` may do everything that this role may do.
  package func isHeld(_ rights: DatabaseFacts.Rights) -> Bool {
    switch self {
    case .monitor: rights.watch
    case .submitter: rights.submit
    case .worker: rights.work
    case .admin: rights.administer
    }
  }
}
