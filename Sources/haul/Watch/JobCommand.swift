import Arguments
import HaulSystem
import JobQueue
import Reports

struct JobCommand: HaulCommand {
  static let name = "job"
  static let abstract = "Show all of one job, and its attempts."
  static let examples = [
    Example("haul job 17", "Where job 17 stands and who has tried it."),
    Example("haul job 17 --json", "The same as one JSON object."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [.required("id", \.id, "The job's id.")]

  var id: Int64 = 0
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let report = try await database.withQueue { queue in
      // One that retention dropped since it was looked for.
      guard let report = try await JobReport.read(id, from: queue) else {
        throw ExitError(.badInput, "there is no job \(id).")
      }
      return report
    }
    try StandardStream.output.write(
      output.isJSON
        ? OutputOptions.json(report.members) : report.text(on: OutputOptions.screen))
  }
}
