/// Fields that say how many more requests a server accepts. Servers such as GitHub send them in every response.
extension ResponseHead {
  /// Whether the server says that it accepts no more requests now.
  var hasNoRequestsLeft: Bool { remainingRequests == 0 }

  /// Returns the time until the server accepts requests again, at most one day; nil if the server does not state it.
  func requestsReturn(now: HTTPDate) -> Duration? {
    let day: Int64 = 86_400
    guard
      let reset = number(
        ["X-RateLimit-Reset", "X-Rate-Limit-Reset", "RateLimit-Reset"], "reset", "t")
    else { return nil }
    // Some servers send a time in seconds since 1970, others a number of seconds from now.
    let seconds = reset > 1_000_000_000 ? reset - now.seconds : reset
    return .seconds(min(max(seconds, 1), day))
  }

  private var remainingRequests: Int64? {
    number(
      ["X-RateLimit-Remaining", "X-Rate-Limit-Remaining", "RateLimit-Remaining"], "remaining", "r")
  }

  /// Returns the number in the first of the fields `names` that exists, or in the parameter `long` or `short` of
  /// `RateLimit` (draft-ietf-httpapi-ratelimit-headers). Returns nil if there is none.
  private func number(_ names: [String], _ long: String, _ short: String) -> Int64? {
    for name in names {
      if let value = value(name), let number = Int64(value) { return number }
    }
    let parameters = values("RateLimit").flatMap { $0.split { ",; ".contains($0) } }
    return parameters.lazy.compactMap { parameter -> Int64? in
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, [long, short].contains(parts[0].lowercased()) else { return nil }
      return Int64(parts[1])
    }.first
  }
}
