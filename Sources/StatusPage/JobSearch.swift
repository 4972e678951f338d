import JobModel
import JobQueue

/// The parameters of `/api/jobs`.
struct JobSearch: Sendable, Equatable {
  /// The largest number of jobs in one response.
  static let most = 100

  var selector = JobSelector()
  /// Text that the path or URL must contain. Empty finds all jobs.
  var text = ""
  /// The upper bound for job ids: the search finds only jobs with smaller ids.
  var before = Int64.max

  init() {}

  /// Reads the query of a request. Empty values are ignored.
  ///
  /// - Throws: ``Wrong`` for an invalid state or number.
  init(_ query: [HTTPRequest.Parameter: String]) throws(Wrong) {
    func value(_ name: HTTPRequest.Parameter) -> String? {
      query[name].flatMap { $0.isEmpty ? nil : $0 }
    }
    selector.batch = value(.batch)
    selector.queue = value(.queue)
    selector.host = value(.host)
    text = value(.text) ?? ""
    selector.error = value(.error).map { ErrorClass(rawValue: $0) }
    if let text = value(.state) {
      selector.state = JobState(rawValue: text)
      guard JobState.known.contains(where: { $0 == selector.state }) else {
        throw Wrong("Unknown state.")
      }
    }
    if let text = value(.before) { before = try Self.id(text) }
  }

  /// Parses the id of a job.
  static func id(_ text: String?) throws(Wrong) -> Int64 {
    guard let id = text.flatMap({ Int64($0) }), id > 0 else {
      throw Wrong("A job id is a whole number of at least 1.")
    }
    return id
  }

  /// The error for an invalid query. The sentence says why.
  struct Wrong: Error, Equatable {
    let sentence: String

    init(_ sentence: String) { self.sentence = sentence }
  }
}
