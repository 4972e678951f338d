/// A series of growing random waits. Each wait is between zero and a bound that doubles up to a limit. Clients that fail
/// together thus do not retry together.
struct Backoff {
  let first: Duration
  let limit: Duration
  private var bound: Duration

  init(first: Duration, limit: Duration) {
    self.first = first
    self.limit = limit
    bound = first
  }

  mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    let wait = bound * Double.random(in: 0...1, using: &generator)
    bound = min(bound * 2, limit)
    return wait
  }

  mutating func next() -> Duration {
    var generator = SystemRandomNumberGenerator()
    return next(using: &generator)
  }

  mutating func reset() {
    bound = first
  }
}
