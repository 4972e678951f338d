import Arguments
import HaulSystem
import JobQueue
import Reports
import Terminal

struct BatchShowCommand: HaulCommand {
  static let name = "show"
  static let abstract = "Show the progress of one batch."
  static let discussion = """
    If no job of the batch runs, DOES NOT START shows why. A cause that a person must repair comes first. Haul \
    reads all jobs of the batch to find the cause. To list the jobs, use 'haul jobs --batch NAME', with \
    --state failed for failed jobs.
    """
  static let examples = [
    Example("haul batch show films", "Shows the progress of the batch films."),
    Example("haul batch show films --json", "Prints the progress as one JSON object."),
  ]
  static let options: [Option<Self>] = group(\.output) + group(\.database)
  static let operands: [Operand<Self>] = [
    .required("name", \.batch, "The name of the batch.").from(.names("batch"))
  ]

  var batch = ""
  var output = OutputOptions()
  var database = DatabaseOptions()

  func perform() async throws {
    var selector = JobSelector()
    selector.batch = batch
    let (rows, obstacle) = try await database.withQueue { [selector] queue in
      try await queue.requireNames(selector)
      let rows = try await queue.batches([batch], limit: 1)
      guard let row = rows.first, row.unfinished > 0, row.running == 0 else {
        return (rows, Obstacle?.none)
      }
      return (rows, try await queue.obstacle(to: AwaitedJobs(batches: [batch])))
    }
    let waits = BatchRow.Column(
      "DOES NOT START", key: "obstacle",
      value: { _ in .text(obstacle?.sentence(of: "--batch \(shellWord(batch))")) })
    // Only for people. Programs see from the values that there are no jobs.
    let note = BatchRow.Column(
      "NOTE", key: "note", value: { .text($0.jobs == 0 ? BatchRow.noJobs : nil) })
    let listing = Listing(
      BatchRow.columns + BatchRow.moreColumns + [waits] + (output.isJSON ? [] : [note]))
    for row in rows {
      try StandardStream.output.write(
        output.isJSON
          ? OutputOptions.json(listing.members(row)) : listing.facts(row, on: OutputOptions.screen))
    }
  }
}
