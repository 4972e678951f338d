import Testing

@testable import Postgres

@Suite struct NotificationTests {
  @Test func `notifications arrive while idle and while a statement runs`() async throws {
    let listener = try await TestServer.connect()
    let sender = try await TestServer.connect()
    let channel = #"odd "name" \#(listener.backendPID)"#
    try await listener.listen(channel)
    var notifications = listener.notifications.makeAsyncIterator()

    try await sender.execute("SELECT pg_notify($1, 'idle')", [channel])
    #expect(
      await notifications.next()
        == Notification(channel: channel, payload: "idle", backendPID: sender.backendPID))

    // The listener's statement ends only when the lock is given back: after the arrival.
    let key = Int64(listener.backendPID)
    try await sender.execute("SELECT pg_advisory_lock($1)", [key])
    async let waiting = listener.query("SELECT pg_advisory_xact_lock($1)", [key])
    try await TestServer.wait(until: listener.backendPID, isActive: true, on: sender)
    try await sender.execute(
      "SELECT pg_advisory_unlock($1), pg_notify($2, 'busy')", [key, channel])
    #expect(await notifications.next()?.payload == "busy")
    _ = try await waiting

    await listener.close()
    #expect(await notifications.next() == nil)
  }
}
