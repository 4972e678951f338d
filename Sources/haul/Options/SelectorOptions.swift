import Arguments
import JobModel
import JobQueue

extension JobState: OptionValue {
  package static var expected: String { OneOf.listed(candidates) }
  package static var candidates: [String] { known.map(\.rawValue) }

  package init?(argument: String) {
    self.init(rawValue: argument)
    if !Self.known.contains(self) { return nil }
  }

  package var argument: String { rawValue }
}

/// The options that select jobs. A job must meet all of these conditions.
struct SelectorOptions: OptionGroup {
  static let title: String? = "SELECTORS"
  static let options: [Option<Self>] = [
    .value("batch", "<name>", \.batch, "Select the jobs of this batch.").from(.names("batch")),
    .value("queue", "<name>", \.queue, "Select the jobs of this queue.").from(.names("queue")),
    .value(
      "host", "<name>", \.host,
      "Select jobs whose URL is on this host. Add the port if it is not the default port."
    )
    .from(.names("host")),
    .value(
      "state", "<state>", \.state,
      "Select jobs in this state. 'haul jobs --help' explains the states."),
    .value(
      "error", "<class>", \.error,
      "Select jobs that failed with this class of error, as 'haul failures' lists it. http_4xx includes http_403, http_404 and http_410."
    ),
  ]

  var batch: String?
  var queue: String?
  var host: HostArgument?
  var state: JobState?
  var error: ErrorClass?

  /// Returns the selector for these options and for `ids`. If `ids` is empty, the selector accepts jobs with any id.
  func selector(ids: [Int64]) -> JobSelector {
    var selector = JobSelector()
    selector.ids = ids.isEmpty ? nil : ids
    selector.batch = batch
    selector.queue = queue
    selector.host = host?.argument
    selector.state = state
    selector.error = error
    return selector
  }

  /// Returns the selector for these options and for `ids`. Throws if there is no id and no option, so that a command never
  /// changes all jobs by mistake.
  func required(ids: [Int64]) throws(ExitError) -> JobSelector {
    let selector = selector(ids: ids)
    guard selector != JobSelector() else {
      throw ExitError(
        .usage,
        "no jobs are selected. Give ids, --batch, --queue, --host, --state or --error.")
    }
    return selector
  }
}
