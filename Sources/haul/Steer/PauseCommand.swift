import Arguments
import JobQueue
import Terminal

struct PauseCommand: ControlCommand {
  static let action = JobAction.pause
  static let abstract = "Pause waiting and running jobs, and keep their progress."
  static let discussion = """
    Haul asks the workers of running jobs to stop, which takes a few seconds. The count includes these jobs. \
    If --batch is the only selector, no further job of the batch starts, even while Haul is still pausing \
    jobs. Jobs that you submit to the batch later start as usual.

    Paused jobs and paused queues differ:

                        haul pause                     haul queue pause
      running jobs      stop and keep their progress   continue
      later jobs        start                          do not start
      state of jobs     paused                         unchanged, such as queued
      in 'haul queues'  counted in HELD                yes in PAUSED
      in 'haul hosts'   held                           paused
    """
  static let examples = [
    Example("haul pause --batch films", "Pauses the remaining jobs of the batch films."),
    Example("haul pause 17 18", "Pauses two jobs."),
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()
}
