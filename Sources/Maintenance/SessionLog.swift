package import Log
package import Postgres

extension Logger {
  /// Logs an event of a database session, such as a lost connection.
  package func log(_ event: Session.Event) {
    switch event {
    case .connected(let pid, false): debug(.databaseRestored, (.pid, LogValue(pid)))
    case .connected(let pid, true): info(.databaseRestored, (.pid, LogValue(pid)))
    case .lost(let error): warning(.databaseLost, (.reason, LogValue(error.description)))
    case .retrying(let after, let error):
      warning(.databaseRetry, (.after, LogValue(after)), (.reason, LogValue("\(error)")))
    }
  }
}
