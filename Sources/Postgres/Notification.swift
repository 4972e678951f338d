/// A notification that another session's `NOTIFY` sent to a channel of this session.
package struct Notification: Sendable, Equatable {
  package let channel: String
  /// The payload of the notification; empty if the sender gave none.
  package let payload: String
  /// The process id of the sender's server process. It may be the process of this connection.
  package let backendPID: Int32
}
