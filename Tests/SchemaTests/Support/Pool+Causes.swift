import JobQueue

extension Pool {
  /// Returns what keeps the waiting jobs of `selector` from starting.
  func causes(of selector: JobSelector = JobSelector()) async throws -> Causes {
    try await jobs.causes(of: selector, counts: try await jobs.liveJobs(of: selector)).causes
  }
}

extension Causes {
  /// Each cause as `blocked a.test 2`, in their order.
  var words: [String] {
    causes.map { "\($0.kind) \($0.name) \($0.jobs ?? -1)" }
  }
}
