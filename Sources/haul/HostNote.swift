import JobQueue

extension JobQueue {
  /// What somebody should know who has just set or blocked `host`, a name or pattern, where no job is on such a host: it
  /// may be misspelt, or early. nil where one is.
  func note(onHost host: String) async throws -> String? {
    guard host != "*", try await !hasJobs(onHost: host) else { return nil }
    let other = try await names("host", startingWith: "\(host):").first
    return "no job has \(host.hasPrefix("*") ? "such a" : "this") host yet; "
      + (other.map { "did you mean \($0)?" } ?? "the rule counts once one comes")
  }
}
