package import JobModel

/// What a database says of itself to any user, with or without Haul's schema in it.
package struct DatabaseFacts: Sendable, Decodable, Equatable {
  /// `15.20`, and as a number, 150020.
  package var server: String
  package var serverNumber: Int
  package var database: String
  /// `UTF8`, or a name of PostgreSQL's for another one.
  package var encoding: String
  package var user: String
  /// Seconds since 1970 by the database's clock, when it was asked.
  package var time: Double
  package var maxConnections: Int
  /// How many of these connections only superusers may use.
  package var reservedConnections: Int
  /// Connections to any database of the server now.
  package var connections: Int
  /// The roles of Haul that exist, of four.
  package var roles: [String]
  /// Migrated, or begun to be.
  package var hasSchema: Bool
  package var may: Rights
  /// Logins that may use the pool and whose transactions may stand idle for ever, quoted as SQL needs it.
  package var patientLogins: [String]
  /// Whether this user sees what sessions of others do.
  package var seesAllSessions: Bool
  package var oldest: HeldSnapshot?
  package var standby: StandbySnapshot?

  /// What this user may do in the pool; all false where Haul's schema is missing.
  package struct Rights: Sendable, Decodable, Equatable {
    package var work: Bool
    package var submit: Bool
    package var watch: Bool
    package var administer: Bool
    /// What the names of the pool's roles begin with.
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

  /// The session or prepared transaction that has kept dead rows of this database from being cleared away the
  /// longest.
  package struct HeldSnapshot: Sendable, Decodable, Equatable {
    /// nil for a prepared transaction.
    package var pid: Int32?
    /// The name of the session's application, or of the prepared transaction.
    package var name: String
    package var user: String?
    /// Since its transaction began.
    package var seconds: Double
  }

  /// The standby that keeps dead rows of the server from being cleared away the longest (hot_standby_feedback).
  package struct StandbySnapshot: Sendable, Decodable, Equatable {
    /// `the replication slot NAME` or `the standby NAME`.
    package var name: String
    /// How many transactions have begun since.
    package var transactions: Int

    /// One made of its parts.
    package init(name: String, transactions: Int) {
      self.name = name
      self.transactions = transactions
    }
  }
}

/// A row of `haul.vitals`.
package struct VitalRow: Sendable, Decodable, Equatable {
  package let vital: String
  /// Which table or queue, or who; nil where there is but one.
  package let subject: String?
  /// nil where there is none yet.
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
  /// Whether a user with these rights may do what the role may.
  package func isHeld(_ rights: DatabaseFacts.Rights) -> Bool {
    switch self {
    case .monitor: rights.watch
    case .submitter: rights.submit
    case .worker: rights.work
    case .admin: rights.administer
    }
  }
}
