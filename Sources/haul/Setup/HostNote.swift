import Arguments
import HaulSystem
import JobQueue

extension JobQueue {
  /// Returns a note if no job has the host `host`, which an operator has just set or blocked. The host may be misspelt, or its
  /// jobs may come later. `host` is a name or a pattern. Returns nil if a job has this host. `undo` is the command that reverts
  /// the change, without the host.
  func note(onHost host: String, undo: String) async throws -> String? {
    guard host != "*", try await !hasJobs(onHost: host) else { return nil }
    let absence =
      host.hasPrefix("*")
      ? "no job has a host that matches this pattern yet" : "no job has this host yet"
    // The database also knows hosts that an operator misspelt earlier. So Haul suggests only a host that has jobs.
    if let near = Suggestion.nearest(to: host, among: try await names("host", near: host)),
      try await hasJobs(onHost: near)
    {
      return "\(absence). Did you mean \(near)? If so, undo this with: \(undo) \(shellWord(host))"
    }
    return "\(absence). The rule applies to future jobs"
  }
}
