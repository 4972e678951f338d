/// The keys a line may carry: the complete list, so that one thing has one name in every line.
///
/// Keys present in every line (`time`, `level`, `event`, `component`) are not fields.
package enum LogField: String, CaseIterable, Sendable {
  // Who and where.
  case job, worker, token, lease, attempt, queue, host, batch, store, instance
  case machine, version, pid, leader
  // What of it.
  case url, path, part, offset, bytes, total, resumed, fetched, status, row, digest
  // How much, how long; `seconds` and `after` are in seconds.
  case count, call, seconds, after, rate
  // Why.
  case state, reason, error, message, code, signal, command, address
}
