import JobModel
import JobQueue
package import Terminal
import Worker

/// The result of one file of `haul get`, for JSON output. The JSON members have the same names as those of a job.
package struct GetFile: Sendable {
  private let url: String?
  /// The path below the directory of the command; nil if it is not known.
  private let path: String?
  private let bytes: Int64?
  private let digest: String?
  /// The state of the job, or `skipped`.
  private let state: String
  private let error: ErrorClass?
  private let message: String?

  /// Creates the result of a file from the end of its lease; nil if Haul will try the file again. `line` is the line of the
  /// list that names the file.
  init?(_ lease: SettledLease, _ line: SubmitLine?) {
    guard [.completed, .failed, .cancelled].contains(lease.state) else { return nil }
    let (ending, isThere) = (lease.ending, lease.state == .completed)
    url = line?.url
    path = ending.path ?? ending.jobPath
    bytes = isThere ? ending.bytes : nil
    digest = isThere ? ending.digest : nil
    state = ending.isSkipped == true && isThere ? "skipped" : lease.state.rawValue
    error = isThere ? nil : lease.cause ?? ending.error
    message = isThere ? nil : ending.message
  }

  /// Creates the result of a file that an earlier run downloaded. If the line requires a digest, the earlier run or this run
  /// has verified it.
  init(_ file: FinishedLine, _ line: SubmitLine?) {
    url = line?.url
    path = file.path
    bytes = file.bytes
    digest = file.digest ?? line?.options?.digest
    state = JobState.completed.rawValue
    error = nil
    message = nil
  }

  /// Returns the JSON members, in the same order as in a list of jobs. `directory` is the command's directory as the user typed
  /// it. The member `path` starts with `directory`.
  package func members(in directory: String) -> [JSONValue.Member] {
    [
      .init("url", .text(url)), .init("path", .text(path.map { Self.joined(directory, $0) })),
      .init("bytes", .number(bytes)), .init("digest", .text(digest)),
      .init("state", .string(state)), .init("error", .text(error?.rawValue)),
      .init("message", .text(message)),
    ]
  }

  private static func joined(_ directory: String, _ path: String) -> String {
    if directory == "." { return path }
    return directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
  }
}
