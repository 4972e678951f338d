import JobModel
import Terminal
import Testing

@testable import JobQueue
@testable import ListFormats
@testable import Submitting

/// Which jobs the lines of a map give new URLs to.
struct URLReplacementTests {
  /// The jobs' URLs, those with a `!` of jobs that are done, and what comes of the lines: `path=url`, and the number of problems.
  private func result(_ jobs: [String], _ lines: [String]) -> (found: [String], problems: Int) {
    let display = ProgressDisplay(mode: .quiet, label: "test", environment: [:])
    let problems = LineProblems()
    let reader = SubmissionReader(label: "test", display: display, describe: { "\($0)" })
    let items = lines.enumerated().compactMap { index, text in
      URLMap.item(of: ListLine(number: index + 1, text: text))
    }
    var replacement = URLReplacement(items, of: "map", reader, problems)
    for (index, text) in jobs.enumerated() {
      let url = "https://h.test/" + text.filter { $0 != "!" }
      let job = ExportedJob(
        job: Int64(index), url: url, path: "\(index)", priority: 5, options: JobOptions())
      replacement.take(job, in: "main", isDone: text.hasPrefix("!"))
    }
    let found = replacement.lines().flatMap(\.lines).map {
      "\($0.path)=\($0.url.dropFirst("https://h.test/".count))"
    }
    return (found, problems.count)
  }

  @Test(arguments: [
    (["f?s=1"], ["f?s=2"], ["0=f?s=2"], 0),
    (["f?s=1", "g"], ["g?s=2", "f?s=2"], ["0=f?s=2", "1=g?s=2"], 0),
    // Several jobs, one of which is done.
    (["f?id=1", "f?id=2"], ["f?id=1&s=2"], [], 1),
    (["!f?id=1", "f?id=2"], ["f?id=1&s=2"], [], 1),
    (["!f?s=1"], ["f?s=2"], [], 1),
    // Lines that contradict each other: neither counts.
    (["f?id=1"], ["f?id=1&s=2", "f?id=2&s=2"], [], 2),
    (["f?id=1", "f?id=2"], ["f?id=1 f?id=3", "f?id=2 f?id=4"], ["0=f?id=3", "1=f?id=4"], 0),
    // Once more.
    (["f?id=3", "f?id=2"], ["f?id=1 f?id=3", "f?id=2 f?id=4"], ["1=f?id=4"], 0),
    (["f?s=2"], ["f?s=2"], [], 0),
    // The same file for two jobs.
    (["f?s=1", "f?s=1"], ["f?s=2"], ["0=f?s=2", "1=f?s=2"], 0),
  ])
  func `a new URL is for the job that it fits, and for no other`(
    jobs: [String], lines: [String], found: [String], problems: Int
  ) {
    let lines = lines.map { line in
      line.split(separator: " ").map { "https://h.test/\($0)" }.joined(separator: " ")
    }
    let result = result(jobs, lines)
    #expect(result.found.sorted() == found && result.problems == problems)
  }
}
