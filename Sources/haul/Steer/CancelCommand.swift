import Arguments
import JobQueue
import Terminal

struct CancelCommand: ControlCommand {
  static let action = JobAction.cancel
  static let abstract = "End jobs without their files."
  static let discussion = """
    Waiting and paused jobs end at once; a running one is asked to stop and counted. A finished file is never touched; a partial one \
    is removed, and 'haul retry', which queues cancelled jobs again, begins anew. With --batch alone \
    none of its jobs starts from now on, however long it takes to end them all.
    """
  static let examples = [
    Example("haul cancel --batch films", "Ends what is left of the batch films."),
    Example("haul cancel --queue default --state paused", "Ends the paused jobs of a queue."),
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()
}
