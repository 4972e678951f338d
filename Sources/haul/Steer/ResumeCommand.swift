import Arguments
import JobQueue

struct ResumeCommand: ControlCommand {
  static let action = JobAction.resume
  static let abstract = "Resume paused jobs."
  static let discussion = """
    A resumed job keeps its progress. A scheduled job still waits for its start time. Jobs of a paused queue \
    start only after 'haul queue resume'.
    """
  static let examples = [
    Example("haul resume --batch films", "Resumes the batch films."),
    Example("haul resume --host example.org", "Resumes all paused jobs of a host."),
  ]

  var ids: [Int64] = []
  var selectors = SelectorOptions()
  var confirm = ConfirmOptions()
  var output = OutputOptions()
  var database = DatabaseOptions()
}
