import Arguments
import JobQueue

/// The options of a queue's jobs that say nothing themselves; each is one of `haul submit`.
struct JobDefaults: OptionGroup {
  /// `yes`, or `no`.
  enum Answer: String, CaseIterable, OptionValue { case yes, no }

  static let title: String? = "JOB OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "credential", "<name>", \.credential,
      "What proves who asks, by the name that workers know it by."),
    .value("max-attempts", "<n>", \.maxAttempts, in: 1...1000, "Fail after so many failures."),
    .value("max-bytes", "<size>", \.maxBytes, "Fail a job whose file is larger."),
    .value(
      "if-exists", "<policy>", \.ifExists, "What to do when a file stands under the final name."),
    .value(
      "accept-unverified-length", "<yes|no>", \.acceptUnverifiedLength,
      "Take a body without length as complete when nothing else proves it."),
    .value(
      "remote-time", "<yes|no>", \.remoteTime,
      "Give files the time of the source's last change."),
    .value(
      "record-digest", "<yes|no>", \.recordDigest,
      "Keep the SHA-256 of each file for 'haul verify'."),
    .value(
      "limit-rate", "<size>", \.limitRate, "At most so many bytes a second, each job by itself."),
    .value(
      "connect-timeout", "<duration>", \.connectTimeout, in: JobChoices.timeouts,
      "How long a connection may take to be made."),
    .value(
      "stall-timeout", "<duration>", \.stallTimeout, in: JobChoices.timeouts,
      "How long a source may go without sending, the answer's head included."),
  ]

  var credential: Settable<CredentialArgument>?
  var maxAttempts: Settable<Int>?
  var maxBytes: Settable<ByteCount>?
  var ifExists: Settable<CollisionPolicy>?
  var acceptUnverifiedLength: Settable<Answer>?
  var remoteTime: Settable<Answer>?
  var recordDigest: Settable<Answer>?
  var limitRate: Settable<RateArgument>?
  var connectTimeout: Settable<Duration>?
  var stallTimeout: Settable<Duration>?

  /// Those given, as the queue takes them: by the keys of ``JobOptions``, nil for `none`.
  var settings: [String: QueueSettings.OptionValue?] {
    var settings: [String: QueueSettings.OptionValue?] = [:]
    func add<Value>(
      _ key: String, _ setting: Settable<Value>?, _ value: (Value) -> QueueSettings.OptionValue
    ) {
      switch setting {
      case nil: break
      case .some(.none): settings.updateValue(nil, forKey: key)
      case .value(let given): settings.updateValue(value(given), forKey: key)
      }
    }
    add("credential", credential) { .text($0.argument) }
    add("max_attempts", maxAttempts) { .number(Int64($0)) }
    add("max_bytes", maxBytes) { .number($0.bytes) }
    add("if_exists", ifExists) { .text($0.rawValue) }
    add("accept_unverified_length", acceptUnverifiedLength) { .flag($0 == .yes) }
    add("remote_time", remoteTime) { .flag($0 == .yes) }
    add("record_digest", recordDigest) { .flag($0 == .yes) }
    add("max_rate", limitRate) { .number($0.rate.bytes) }
    add("connect_timeout", connectTimeout) { .number(Int64($0.wholeSeconds)) }
    add("stall_timeout", stallTimeout) { .number(Int64($0.wholeSeconds)) }
    return settings
  }
}
