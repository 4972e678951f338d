/// A notification that another session's `NOTIFY` sent to a channel of this session.
package struct Notification: Sendable, Equatable {
  package let channel: String
  /// The payload of the notification; empty if the sender gave none.
  package let payload: String
  /// The process id of the sender's server process. This may be the server process of this connection itself.
  package let backendPID: Int32
}
