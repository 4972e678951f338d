import Foundation
import JobModel
import Terminal
import TestSupport
import Testing

@testable import JobQueue
@testable import Reports

/// Words of a newer database that this program does not know.
struct UnknownWordTests {
  static func decode<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(type, from: Data(json.utf8))
  }

  @Test func `they decode, and are written as they came`() throws {
    let state = try Self.decode(JobState.self, "\"hibernating\"")
    #expect(!JobState.known.contains(state))
    #expect("\(state)" == "hibernating")
    #expect(try String(decoding: JSONEncoder().encode(state), as: UTF8.self) == "\"hibernating\"")
    #expect(try Self.decode(ErrorClass.self, "\"bad_moon\"").rawValue == "bad_moon")
    #expect(ErrorTable.advice(on: "bad_moon") == nil)
  }

  @Test func `a list shows them as they are`() throws {
    let row = try Self.decode(
      WorkerRow.self,
      """
      {"worker": 7, "machine": "host-a", "pid": 1234, "version": "9.0.0", "state": "hibernating", "running": 0,
       "concurrency": 16, "rate": 0, "registered_at": "2026-11-21T15:30:12+00:00",
       "heartbeat_at": "2026-11-21T15:30:12+00:00", "expires_at": "2026-11-21T15:30:27+00:00", "silence": 1}
      """)
    #expect(Listing(WorkerRow.columns).table([row], on: Screen(width: 80)).contains("hibernating"))
  }

  /// A job in such a state has not ended: whoever waits for it waits on.
  @Test func `a job in such a state counts as one that has not ended`() throws {
    let counts = try Self.decode(
      [JobCount].self,
      "[{\"state\": \"hibernating\", \"jobs\": 2, \"bytes\": 5}, {\"state\": \"completed\", \"jobs\": 1, \"bytes\": 1}]"
    )
    let tally = Tally(counts)
    #expect(tally.pending == 2 && tally.ended == 1)
  }
}
