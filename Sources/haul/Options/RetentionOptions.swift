import Arguments
import JobQueue

/// How long the pool keeps jobs that have ended.
struct RetentionOptions: OptionGroup {
  static let title: String? = "RETENTION"
  static let options: [Option<Self>] = [
    .value(
      "keep-completed", "<time>", \.settings.completed,
      "How long to keep completed jobs. Their files stay. Example: 30d. The value forever keeps them, even if there is another setting for all queues. The value none uses the setting for all queues."
    ),
    .value(
      "keep-failed", "<time>", \.settings.failed,
      "How long to keep failed jobs. Takes the same values as --keep-completed."),
    .value(
      "keep-cancelled", "<time>", \.settings.cancelled,
      "How long to keep cancelled jobs. Takes the same values as --keep-completed."),
    .value(
      "keep-known", "<time>", \.settings.known,
      "How long to remember the path of a completed job after the job has ended, so that it is not downloaded again. Takes the same values as --keep-completed; 0 remembers nothing. Applies to jobs that are removed from now on. Default: forever."
    ),
  ]

  var settings = RetentionSettings()
}

extension KeepTime: OptionValue {
  package static var expected: String {
    "a duration such as 30d (at most 36525d, 100 years), forever, or none"
  }
  package static var candidates: [String] { ["forever", "none"] }

  /// The longest duration: 100 years.
  private static let longest = Duration.seconds(36_525 * 86_400)

  package init?(argument: String) {
    switch argument {
    case "forever": self = .forever
    case "none": self = .unset
    default:
      guard let duration = Duration(argument: argument), duration <= Self.longest else {
        return nil
      }
      self = .duration(duration)
    }
  }

  package var argument: String {
    switch self {
    case .duration(let duration): duration.argument
    case .forever: "forever"
    case .unset: "none"
    }
  }
}
