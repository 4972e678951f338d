import Arguments
import HaulSystem
import JobQueue
import Reports

struct JobCommand: HaulCommand {
  static let name = "job"
  static let abstract = "Show the details and the attempts of one job."
  static let discussion = """
    If the job does not start, Haul shows why and what to type. If it failed, Haul explains the error and says \
    what to do. PATH is the path of the file in the store. If machines have local disks, the file of a \
    completed job is on MACHINE.
    """
  static let examples = [
    Example("haul job 17", "Shows the state of job 17 and which workers tried it."),
    Example("haul job 17 --json", "Prints the details of job 17 as one JSON object."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [.required("id", \.id, "The id of the job.")]

  var id: Int64 = 0
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    let report = try await database.withQueue { queue in
      // Retention may have removed the job since it was found.
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
