import Arguments
import JobModel
import JobQueue
import Terminal

struct CancelCommand: ControlCommand {
  static let action = JobAction.cancel
  static let abstract = "End jobs without their files, or take that back."
  static let discussion = """
    Waiting and paused jobs end at once; a running one is asked to stop and counted. A finished file is never touched. A partial \
    one is kept for an hour: until then --undo, or 'haul retry', continues the download, and after that it begins at 0. --undo queues all cancelled jobs that \
    it is given, those that were paused before included. With \
    --batch alone none of its jobs starts from now on, however long it takes to end them all.
    """
  static let examples = [
    Example("haul cancel --batch films", "Ends what is left of the batch films."),
    Example("haul cancel --batch films --undo", "Queues its cancelled jobs again."),
    Example("haul cancel --queue default --state paused", "Ends the paused jobs of a queue."),
  ]
  static let options: [Option<Self>] =
    [
      .flag("undo", \.undo, "Queue the cancelled ones of these jobs again.")
    ] + group(\.selectors) + group(\.confirm) + group(\.output) + group(\.database)

  var undo = false
  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  var chosen: JobAction { undo ? .retry : .cancel }

  func narrowed(_ selector: JobSelector) throws(ExitError) -> JobSelector {
    guard undo else { return selector }
    guard [nil, .cancelled].contains(selector.state), selector.error == nil else {
      throw ExitError(
        .usage, "--undo is for cancelled jobs alone: leave --state and --error out.")
    }
    var selector = selector
    selector.state = .cancelled
    return selector
  }

  func note(_ count: Int) -> String {
    undo || selectors.state != nil || selectors.error != nil
      ? "" : "; within an hour --undo queues them again and keeps their partial files"
  }
}
