/// A notification that another session's `NOTIFY` sent to a channel of this session.
package struct Notification: Sendable, Equatable {
  package let channel: String
  /// The payload; empty if the sender gave none.
  package let payload: String
  /// The server process of the sender, which may be this connection's own.
  package let backendPID: Int32
}
