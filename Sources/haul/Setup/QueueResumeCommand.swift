import Arguments

struct QueueResumeCommand: QueueSwitchCommand {
  static let name = "resume"
  static let isPaused = false
  static let consequence = "is resumed"
  static let abstract = "Resume a paused queue."
  static let discussion = """
    This ends 'haul queue pause'. Jobs that were paused on their own stay paused. To resume them, use 'haul \
    resume --queue'.
    """
  static let examples = [
    Example("haul queue resume films", "Lets waiting jobs of films start."),
    Example("haul queue resume films --json", "Does the same and prints JSON."),
  ]

  var queue = ""
  var output = OutputOptions()
  var database = DatabaseOptions()
}
