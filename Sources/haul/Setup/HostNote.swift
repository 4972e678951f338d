import Arguments
import HaulSystem
import JobQueue

extension JobQueue {
  /// A note for an operator who has just set or blocked `host`, a name or pattern, if no job is on such a host: it may be
  /// misspelt, or the jobs come later. nil if a job is on it. `undo`: the command that reverts it, without the host.
  func note(onHost host: String, undo: String) async throws -> String? {
    guard host != "*", try await !hasJobs(onHost: host) else { return nil }
    let absence = "no job has \(host.hasPrefix("*") ? "such a" : "this") host yet"
    // What was misspelt before is known too.
    if let near = Suggestion.nearest(to: host, among: try await names("host", near: host)),
      try await hasJobs(onHost: near)
    {
      return "\(absence). Did you mean \(near)? If so, undo this with: \(undo) \(shellWord(host))"
    }
    return "\(absence). The rule applies to future jobs"
  }
}
