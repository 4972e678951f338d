import Arguments
import HaulSystem
import HaulTransfer
import JobQueue
import ListFormats
import Reports
import Terminal

struct JobCommand: HaulCommand {
  static let name = "job"
  static let abstract = "Show the details and the attempts of one job."
  static let discussion = """
    If the job does not start, Haul shows why and what to type. If it failed, Haul explains the error and says \
    what to do. PATH is the path of the file in the store. If machines have local disks, the file of a \
    completed job is on MACHINE.

    You can name the job by its id, by its path, or by its URL if 'haul submit' chose the path. If the job has \
    completed and was removed, Haul says when, and the length and digest of the file.
    """
  static let examples = [
    Example("haul job 17", "Shows the state of job 17 and which workers tried it."),
    Example(
      "haul job c.iso", "Shows the job with this path, or what Haul remembers of it."),
    Example("haul job 17 --json", "Prints the details of job 17 as one JSON object."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("job", \.job, "The id of the job, or the path or URL of its file.")
  ]

  var job = ""
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    try await database.withQueue { queue in
      if let id = Int64(job) { return try await show(id, queue) }
      let paths = Self.paths(of: job)
      let ids = try await queue.jobs(at: paths)
      if ids.count > 1 {
        throw ExitError(
          .badInput,
          "jobs \(OneOf.listed(ids.map(String.init), by: "and")) have this path in different stores. Give the id of one."
        )
      }
      if let id = ids.first { return try await show(id, queue) }
      let known = try await queue.knownFiles(paths)
      if known.isEmpty { throw ExitError(.badInput, "no job has the path or URL \"\(job)\".") }
      for file in known { try output.print(file.members, orSay: file.sentence) }
    }
  }

  private func show(_ id: Int64, _ queue: JobQueue) async throws {
    // Retention may have removed the job since it was found.
    guard let report = try await JobReport.read(id, from: queue) else {
      throw ExitError(.badInput, "there is no job \(id).")
    }
    try StandardStream.output.write(
      output.isJSON
        ? OutputOptions.json(report.members) : report.text(on: OutputOptions.screen))
  }

  /// Returns the text as a path and, if it is a URL, the paths that `haul submit` gives to this URL.
  private static func paths(of text: String) -> [String] {
    guard let url = try? WebURL(text, schemes: WebURL.knownSchemes) else { return [text] }
    let tree = try? DefaultPath.path(
      hostKey: url.hostKey, path: url.path, query: url.query, digest: DigestAlgorithm.sha256(of:))
    let flat = try? DefaultPath.name(path: url.path, digest: DigestAlgorithm.sha256(of:))
    return [tree, flat].compactMap { $0 }
  }
}

extension KnownFile {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("removed", .bool(true)), .init("store", .string(store)), .init("path", .string(path)),
      .init("finished_at", .string(finishedAt)), .init("bytes", .number(bytes)),
      .init("digest", .text(digest)),
    ]
  }

  /// What the pool remembers, for people.
  fileprivate var sentence: String {
    let size = bytes.map { ", \($0) bytes" } ?? ""
    return
      "\(SafeText.visible(path)) in the store \(store): downloaded at \(HumanFormat.time(finishedAt))\(size)\(digest.map { ", \($0)" } ?? ""). Its job was removed."
  }
}
