package import JobModel

/// Facts about a database that any user can read, with or without Haul's schema in it.
package struct DatabaseFacts: Sendable, Decodable, Equatable {
  /// The server's version, such as `15.20`, and the same version as a number, such as 150020.
  package var server: String
  package var serverNumber: Int
  package var database: String
  /// The server encoding: `UTF8`, or PostgreSQL's name of another one.
  package var encoding: String
  package var user: String
  /// The time of the query by the database's clock, in seconds since 1970.
  package var time: Double
  package var maxConnections: Int
  /// The number of these connections that only superusers may use.
  package var reservedConnections: Int
  /// The number of open connections to all databases of the server.
  package var connections: Int
  /// The names of the pool's roles that exist. A complete pool has four.
  package var roles: [String]
  /// Whether the database has a schema `haul`, even if its migration is incomplete.
  package var hasSchema: Bool
  package var may: Rights
  /// The logins that may use the pool but have no limit on idle transactions (idle_in_transaction_session_timeout). The names
  /// are quoted as SQL needs it.
  package var patientLogins: [String]
  /// Whether this user can see what the sessions of other users do.
  package var seesAllSessions: Bool
  package var oldest: HeldSnapshot?
  package var standby: StandbySnapshot?

  /// What this user may do in the pool. All values are false if Haul's schema is missing.
  package struct Rights: Sendable, Decodable, Equatable {
    package var work: Bool
    package var submit: Bool
    package var watch: Bool
    package var administer: Bool
    /// The prefix of the names of the pool's roles.
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

  /// The session or prepared transaction that has kept PostgreSQL from removing dead rows of this database for the longest
  /// time.
  package struct HeldSnapshot: Sendable, Decodable, Equatable {
    /// The process id of the session's server process; nil for a prepared transaction.
    package var pid: Int32?
    /// The name of the session's application, or of the prepared transaction.
    package var name: String
    package var user: String?
    /// Seconds since the transaction began.
    package var seconds: Double
  }

  /// The standby that has kept PostgreSQL from removing dead rows for the longest time (hot_standby_feedback).
  package struct StandbySnapshot: Sendable, Decodable, Equatable {
    /// The name for a sentence: `the replication slot NAME` or `the standby NAME`.
    package var name: String
    /// The number of transactions that began since then.
    package var transactions: Int

    /// Creates a snapshot.
    package init(name: String, transactions: Int) {
      self.name = name
      self.transactions = transactions
    }
  }
}

/// A row of `haul.vitals`.
package struct VitalRow: Sendable, Decodable, Equatable {
  package let vital: String
  /// The table, queue or user that the value is about; nil if the vital has only one value.
  package let subject: String?
  /// The measured value; nil if nothing was measured yet.
  package let value: Double?
  package let unit: String
  package let alarming: Bool
  package let meaning: String
}

/// A row of `haul.health`.
package struct HealthRow: Sendable, Decodable, Equatable {
  package let check: String
  package let violations: Int
  package let meaning: String
}

extension PoolRole {
  /// Whether a user with these rights may do everything that needs this role.
  package func isHeld(_ rights: DatabaseFacts.Rights) -> Bool {
    switch self {
    case .monitor: rights.watch
    case .submitter: rights.submit
    case .worker: rights.work
    case .admin: rights.administer
    }
  }
}
