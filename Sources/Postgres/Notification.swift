/// What another session's `NOTIFY` sent to a channel that this one listens to.
package struct Notification: Sendable, Equatable {
  package let channel: String
  /// Empty if none was given.
  package let payload: String
  /// The process on the server that sent it; may be this connection's own.
  package let backendPID: Int32
}
