import Arguments
import JobModel
import JobQueue
import Terminal

struct CancelCommand: ControlCommand {
  static let action = JobAction.cancel
  static let abstract = "Cancel jobs, or undo a cancellation."
  static let discussion = """
    Waiting and paused jobs end immediately. Haul asks the workers of running jobs to stop, and includes these \
    jobs in the count. It never touches a finished file. It keeps a partial file for one hour. Within this \
    hour, --undo or 'haul retry' continues the download. Later the download starts again from the first byte. \
    --undo queues all selected cancelled jobs, including jobs that were paused when you cancelled them. If \
    --batch is the only selector, no further job of the batch starts, even while Haul is still cancelling \
    jobs. Jobs that you submit to the batch later start as usual.
    """
  static let examples = [
    Example("haul cancel --batch films", "Cancels the remaining jobs of the batch films."),
    Example("haul cancel --batch films --undo", "Queues the cancelled jobs of the batch again."),
    Example("haul cancel --queue default --state paused", "Cancels the paused jobs of a queue."),
  ]
  static let options: [Option<Self>] =
    [
      .flag("undo", \.undo, "Undo a cancellation: queue the selected cancelled jobs again.")
    ] + group(\.selectors) + group(\.confirm) + group(\.output) + group(\.database)

  var undo = false
  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()

  var chosen: JobAction { undo ? .retry : .cancel }

  var isUndo: Bool { undo }

  func narrowed(_ selector: JobSelector) throws(ExitError) -> JobSelector {
    guard undo else { return selector }
    guard [nil, .cancelled].contains(selector.state), selector.error == nil else {
      throw ExitError(
        .usage, "--undo works only on cancelled jobs. Remove --state and --error.")
    }
    var selector = selector
    selector.state = .cancelled
    return selector
  }

  func change(
    _ queue: JobQueue, _ selector: JobSelector, onStep: (Int) -> Void
  ) async throws -> Int {
    undo
      ? try await queue.retry(selector, isUndo: true, onStep: onStep)
      : try await queue.control(.cancel, selector, onStep: onStep)
  }

  func note(_ count: Int) -> String {
    undo || selectors.state != nil || selectors.error != nil
      ? "" : ". Within one hour, --undo queues these jobs again and keeps the partial files"
  }
}
