/// The name of a field in a log line. The list is complete, so that all lines use the same name for the same thing.
///
/// `time`, `level`, `event` and `component` are in every line and are not fields.
package enum LogField: String, CaseIterable, Sendable {
  // Who and where.
  case job, worker, token, lease, attempt, queue, host, batch, store, instance
  case machine, version, pid, leader
  // What the line is about.
  case url, path, part, offset, bytes, total, resumed, fetched, status, row, digest
  // Amounts and times; `seconds` and `after` are in seconds.
  case count, call, seconds, after, rate
  // Why.
  case state, reason, error, message, code, signal, command, address
}
