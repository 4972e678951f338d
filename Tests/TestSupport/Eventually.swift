import Foundation

/// Waits for a condition that has no event: a row in a database, a file in a directory.
///
/// The one place where tests poll: every 10 ms at first, less often the longer it takes, and every 50 ms at the least. Tests
/// that wait would otherwise keep a small machine busy with their questions. Where there is an event, wait for it instead
/// (``Watched``, ``Gate``, ``HaulProcess/event(_:after:within:where:)``).
///
/// - Throws: ``TimedOut``; whatever `condition` throws, at once; `CancellationError`.
package func eventually(
  _ what: String, within limit: Duration = .seconds(30),
  _ condition: () async throws -> Bool
) async throws {
  let start = ContinuousClock.now
  let deadline = start + limit * patience
  while try await !condition() {
    guard ContinuousClock.now < deadline else {
      throw TimedOut(what: what, limit: limit * patience)
    }
    let pause = min(max(.milliseconds(10), (.now - start) / 8), .milliseconds(50))
    try await Task.sleep(for: pause)
  }
}

/// As ``eventually(_:within:_:)`` for threads that may block.
func eventuallyBlocking(
  _ what: String, within limit: Duration = .seconds(30), _ condition: () throws -> Bool
) throws {
  let deadline = ContinuousClock.now + limit * patience
  while try !condition() {
    guard ContinuousClock.now < deadline else {
      throw TimedOut(what: what, limit: limit * patience)
    }
    Thread.sleep(forTimeInterval: 0.001)
  }
}
