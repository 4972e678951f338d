import Arguments

struct QueueResumeCommand: QueueSwitchCommand {
  static let name = "resume"
  static let isPaused = false
  static let consequence = "is resumed"
  static let abstract = "Resume a paused queue."
  static let discussion = """
    The command ends a pause that 'haul queue pause' began. Jobs that 'haul pause' paused stay paused. To \
    resume these jobs, use 'haul resume --queue'.
    """
  static let examples = [
    Example("haul queue resume films", "Lets waiting jobs of films start."),
    Example("haul queue resume films --json", "Resumes the queue films and prints JSON."),
  ]

  var queue = ""
  var output = OutputOptions()
  var database = DatabaseOptions()
}
