import JobModel
import Postgres

/// The queries of `haul check`.
extension JobQueue {
  /// A query for ``DatabaseFacts/Rights`` that works in any database and for any user.
  static let rights = """
    SELECT json_build_object(
      'prefix', coalesce(\(RolePrefix.sql), '\(RolePrefix.usual)'),
      'work', m.usable AND m.functions && ARRAY['work'], 'submit', m.usable AND m.functions && ARRAY['submit'],
      'administer', m.usable AND m.functions && ARRAY['set_host'],
      'watch', m.usable AND EXISTS (SELECT FROM pg_class c
        WHERE c.relnamespace = to_regnamespace('haul') AND c.relname = 'jobs' AND has_table_privilege(c.oid, 'SELECT')))
    FROM (SELECT coalesce(has_schema_privilege(to_regnamespace('haul')::oid, 'USAGE'), false) AS usable,
      ARRAY(SELECT p.proname::text FROM pg_proc p WHERE p.pronamespace = to_regnamespace('haul')
        AND p.proname IN ('work', 'submit', 'set_host') AND has_function_privilege(p.oid, 'EXECUTE')) AS functions) m
    """

  /// A query for the server's default of idle_in_transaction_session_timeout, as `NAME=VALUE`. If the login of this session
  /// has its own value, the session cannot see the server's default. Then the result is 0: no limit.
  private static let serversPatience = """
    SELECT 'idle_in_transaction_session_timeout=' || CASE WHEN EXISTS (
        SELECT FROM pg_db_role_setting d CROSS JOIN LATERAL unnest(d.setconfig) AS c(setting)
        WHERE d.setrole = (SELECT u.oid FROM pg_roles u WHERE u.rolname = session_user)
          AND c.setting LIKE 'idle_in_transaction_session_timeout=%')
      THEN '0' ELSE g.reset_val END
    FROM pg_settings g WHERE g.name = 'idle_in_transaction_session_timeout'
    """

  /// A query for the ``HeldSnapshot`` that has been open for the longest time.
  private static let oldestSnapshot = """
    SELECT to_json(o) FROM (
      SELECT a.pid, a.application_name AS name, a.usename AS "user",
        extract(epoch FROM clock_timestamp() - a.xact_start) AS seconds
      FROM pg_stat_activity a
      WHERE (a.datname = current_database() OR a.datname IS NULL) AND a.xact_start IS NOT NULL
        AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
        AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
      UNION ALL
      SELECT NULL, p.gid, p.owner, extract(epoch FROM clock_timestamp() - p.prepared)
      FROM pg_prepared_xacts p WHERE p.database = current_database()
      ORDER BY seconds DESC LIMIT 1) o
    """

  /// Returns the oldest transaction snapshot that ``databaseFacts()`` contains, and reads nothing else; nil if there is none.
  package func oldestSnapshot() async throws -> DatabaseFacts.HeldSnapshot? {
    let found: [DatabaseFacts.HeldSnapshot] = try await view(Self.oldestSnapshot, [])
    return found.first
  }

  /// Returns what ``DatabaseFacts/may`` of ``databaseFacts()`` contains, and reads nothing else.
  package func rights() async throws -> DatabaseFacts.Rights { try await callJSON(Self.rights, []) }

  /// Returns the time of the database's clock, in seconds since 1970.
  package func time() async throws -> Double {
    try await call("SELECT extract(epoch FROM clock_timestamp())::float8", [])
  }

  /// Returns facts about the database. The query needs only the right to connect, and works without Haul's schema.
  ///
  /// The facts include a transaction snapshot only if the snapshot prevents the removal of dead rows (`backend_xmin`,
  /// `backend_xid`). Snapshots of other users are visible only with the role `pg_read_all_stats`.
  package func databaseFacts() async throws -> DatabaseFacts {
    try await callJSON(
      """
      SELECT json_build_object(
        'server', split_part(current_setting('server_version'), ' ', 1),
        'server_number', current_setting('server_version_num')::int,
        'database', current_database(), 'encoding', current_setting('server_encoding'), 'user', current_user,
        'time', extract(epoch FROM clock_timestamp()),
        'max_connections', current_setting('max_connections')::int,
        'reserved_connections', current_setting('superuser_reserved_connections')::int,
        'connections', (SELECT sum(numbackends) FROM pg_stat_database),
        'roles', (SELECT coalesce(json_agg(rolname ORDER BY rolname), '[]') FROM pg_roles
          WHERE rolname IN (SELECT coalesce(\(RolePrefix.sql), '\(RolePrefix.usual)') || '_' || r
            FROM unnest('{\(PoolRole.allCases.map(\.rawValue).joined(separator: ","))}'::text[]) r)),
        'has_schema', to_regnamespace('haul') IS NOT NULL,
        'may', (\(Self.rights)),
        'patient_logins', (SELECT coalesce(json_agg(quote_ident(r.rolname) ORDER BY r.rolname), '[]') FROM pg_roles r
          WHERE r.rolcanlogin AND NOT r.rolsuper AND has_schema_privilege(r.oid, to_regnamespace('haul')::oid, 'USAGE')
            AND coalesce((SELECT c.setting FROM pg_db_role_setting d CROSS JOIN LATERAL unnest(d.setconfig) AS c(setting)
              WHERE d.setrole IN (0, r.oid)
                AND d.setdatabase IN (0, (SELECT b.oid FROM pg_database b WHERE b.datname = current_database()))
                AND c.setting LIKE 'idle_in_transaction_session_timeout=%'
              ORDER BY d.setrole <> 0 DESC, d.setdatabase <> 0 DESC LIMIT 1), (\(Self.serversPatience))) ~ '=0+[a-z]*$'),
        'sees_all_sessions', pg_has_role('pg_read_all_stats', 'USAGE'),
        'oldest', (\(Self.oldestSnapshot)),
        'standby', (SELECT to_json(o) FROM (
          SELECT format('the replication slot %s', s.slot_name) AS name, age(s.xmin) AS transactions
          FROM pg_replication_slots s WHERE s.xmin IS NOT NULL
          UNION ALL
          SELECT format('the standby %s', coalesce(nullif(a.application_name, ''), a.usename)), age(a.backend_xmin)
          FROM pg_stat_activity a WHERE a.backend_type = 'walsender' AND a.backend_xmin IS NOT NULL
          ORDER BY transactions DESC LIMIT 1) o))
      """, [])
  }

  /// Returns how many jobs failed in the current or the previous hour, for each error class. Jobs that were queued again after
  /// their failure do not count.
  package func recentFailures() async throws -> [JobCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT 'failed' AS state, f.error, sum(f.jobs)::bigint AS jobs, 0 AS bytes FROM haul.failures f
        WHERE f.hour >= date_trunc('hour', clock_timestamp()) - interval '1 hour'
        GROUP BY f.error ORDER BY jobs DESC, f.error) v
      """, [])
  }

  /// Returns the queues for which no live worker can write to the store. Each key is a queue. Each value names one worker of
  /// the queue and gives that worker's error.
  package func closedQueues() async throws -> [String: String] {
    let rows = try await rows(
      """
      SELECT q.queue, min(format('worker %s (%s, pid %s): %s', w.worker, w.machine, w.pid, w.trouble)) AS reason
      FROM haul.queues q JOIN haul.workers w
        ON q.store = ANY (w.stores) AND (w.queues IS NULL OR q.queue = ANY (w.queues))
      WHERE w.state IN ('alive', 'silent')
      GROUP BY q.queue HAVING bool_and(coalesce(
        starts_with(w.trouble, q.store || ': ') OR strpos(w.trouble, '; ' || q.store || ': ') > 0, false))
      """, [])
    var queues: [String: String] = [:]
    for row in rows { queues[try row.decode("queue")] = try row.decode("reason", as: String.self) }
    return queues
  }

  /// Returns measurements of the resources that the pool depends on.
  package func vitals() async throws -> [VitalRow] {
    try await view(
      "SELECT to_json(v) FROM (SELECT m.* FROM haul.vitals m ORDER BY m.vital, m.subject) v", [])
  }

  /// Returns every invariant of the pool's tables, with the number of its violations. Reads all rows of the pool.
  package func health() async throws -> [HealthRow] {
    try await view("SELECT to_json(v) FROM (SELECT h.* FROM haul.health h) v", [])
  }
}
