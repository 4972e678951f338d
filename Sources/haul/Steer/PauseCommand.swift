import Arguments
import JobQueue
import Terminal

struct PauseCommand: ControlCommand {
  static let action = JobAction.pause
  static let abstract = "Hold waiting jobs and stop running ones with their progress kept."
  static let discussion = """
    A running job is asked to stop and counted; its worker does so within some seconds. Each job is held by itself: \
    with --queue those that are there now. To start nothing more from a queue: haul queue pause. With --batch alone \
    none of its jobs starts from now on, however long it takes to hold them all.
    """
  static let examples = [
    Example("haul pause --batch films", "Pauses what is left of the batch films."),
    Example("haul pause 17 18", "Pauses two jobs."),
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()
}
