import Arguments
import JobModel

/// The job options that a queue applies to jobs submitted without their own options.
struct QueueJobOptions: OptionGroup {
  static let title: String? = "JOB OPTIONS"
  static let options: [Option<Self>] = JobOptionTable.rows
    .filter { $0.commands.contains(.queue) }.map(\.queueOption)

  /// The options that were given. The keys are raw values of `JobOption`. A nil value stands for `none`.
  private(set) var settings: [String: JobOption.Value?] = [:]

  /// Sets an option, or removes it if the setting is `none`.
  mutating func set<Value>(
    _ option: JobOption, _ setting: Settable<Value>, _ value: (Value) -> JobOption.Value
  ) {
    switch setting {
    case .none: settings.updateValue(nil, forKey: option.rawValue)
    case .value(let given): settings.updateValue(value(given), forKey: option.rawValue)
    }
  }
}
