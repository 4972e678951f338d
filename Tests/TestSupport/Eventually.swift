import Foundation

/// Waits for a condition that has no event: a row in a database, a file in a directory.
///
/// The one place where tests poll, every 10 ms. Where there is an event, wait for it instead
/// (``Watched``, ``Gate``, ``HaulProcess/event(_:after:within:where:)``).
///
/// - Throws: ``TimedOut``; whatever `condition` throws, at once; `CancellationError`.
package func eventually(
  _ what: String, within limit: Duration = .seconds(30),
  _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit * patience
  while try await !condition() {
    guard ContinuousClock.now < deadline else {
      throw TimedOut(what: what, limit: limit * patience)
    }
    try await Task.sleep(for: .milliseconds(10))
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
