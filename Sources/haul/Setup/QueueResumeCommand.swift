import Arguments

struct QueueResumeCommand: QueueSwitchCommand {
  static let name = "resume"
  static let isPaused = false
  static let consequence = "goes on"
  static let abstract = "Let jobs of a paused queue start again."
  static let discussion = """
    Ends 'haul queue pause'. Jobs that were paused one by one stay so: for these, haul resume --queue.
    """
  static let examples = [
    Example("haul queue resume films", "What waits in films may start."),
    Example("haul queue resume films --json", "The same for a program."),
  ]

  var queue = ""
  var output = OutputOptions()
  var database = DatabaseOptions()
}
