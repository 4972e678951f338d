import HaulSystem
package import JobQueue
import Terminal

extension CheckVerdicts {
  /// Returns a warning for each alarming row of `rows`, or one finding without a warning if no row is alarming. Omits values
  /// that were never measured, because a healthy new pool lacks them too.
  ///
  /// `told` names measurements that other findings have already reported; this function omits them. An entry is the name of a
  /// measurement, such as `connections`, or a name and a subject, such as `stranded_lanes films`.
  package static func vitals(_ rows: [VitalRow], told: Set<String>) -> [CheckFinding] {
    let alarming = rows.filter { row in
      row.alarming && row.value != nil
        && told.isDisjoint(with: [row.vital, "\(row.vital) \(row.subject ?? "")"])
    }
    if alarming.isEmpty { return [.ok("vitals", "all measurements of the database are normal")] }
    return alarming.map { .warn("vitals", detail($0), advice($0)) }
  }

  /// Returns a text such as `dead rows of ready: 250000 rows; deleted or replaced rows of …`.
  private static func detail(_ row: VitalRow) -> String {
    let value = row.value ?? 0
    // The unit of this measurement is an internal term, so the measurement has a sentence of its own.
    if row.vital == "stranded_lanes", let queue = row.subject {
      let hosts = counted(Int(clamped: value), "host")
      return
        "the queue \(queue) has waiting jobs for \(hosts), and no live worker can take these jobs"
    }
    let unit = value == 1 && row.unit.hasSuffix("s") ? String(row.unit.dropLast()) : row.unit
    let amount =
      row.unit == "of 1" ? "\(Int(clamped: value * 100))%" : "\(Int64(clamped: value)) \(unit)"
    let subject = row.subject.map { " (\($0))" } ?? ""
    return "\(row.vital.replacing("_", with: " "))\(subject): \(amount); \(row.meaning)"
  }

  private static func advice(_ row: VitalRow) -> String {
    switch row.vital {
    case "dead_rows":
      "Check that autovacuum runs and that no session holds a snapshot. To remove the dead rows now, run VACUUM haul.\(row.subject ?? "")."
    case "oldest_snapshot":
      "Wait until this transaction ends, or end it: SELECT pg_terminate_backend(PID)."
    case "standby_snapshot":
      "End the long query on the standby, or drop the slot if the standby no longer exists: SELECT pg_drop_replication_slot('NAME')."
    case "notify_queue":
      "End the session with the oldest transaction: SELECT pg_terminate_backend(PID). If the notification queue stays full, end the session whose transaction is then the oldest. PostgreSQL's log also names such a session, as 'among those with the oldest transactions'."
    case "partition_room":
      "Keep a worker or 'haul coordinator' running, because these processes create partitions. If they fail, their logs say why."
    case "stranded_lanes":
      "Run 'haul workers' and 'haul store list' to see which stores the workers mount, which queues they serve and why they cannot write. Repair the store, or start a worker."
    case "last_round", "changes_to_add":
      "Start a worker or 'haul coordinator'. If a worker or coordinator is already running, the log of that process says why it makes no progress."
    case "set_aside":
      "Run 'haul jobs --error internal' to list these jobs and 'haul job ID' to see the reason. Submit the jobs again with other options."
    case "open_transaction":
      "End this transaction: SELECT pg_terminate_backend(PID), or ROLLBACK PREPARED. Then run ALTER ROLE … SET idle_in_transaction_session_timeout = '1min'."
    case "clock_step": "Use NTP to set the clock of the database machine, also at boot."
    case "frozen_age":
      "Run VACUUM FREEZE on the database, and check why autovacuum does not freeze these rows."
    default: "docs/sql.md explains this measurement, in the view haul.vitals."
    }
  }
}
