import Arguments
import JobQueue

struct ResumeCommand: ControlCommand {
  static let action = JobAction.resume
  static let abstract = "Let paused jobs go on."
  static let discussion = """
    A job goes on where it stood: with its progress, and not before a time it was scheduled for.
    """
  static let examples = [
    Example("haul resume --batch films", "Lets the batch films go on."),
    Example("haul resume --host example.org", "Lets all paused jobs of a host go on."),
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()
}
