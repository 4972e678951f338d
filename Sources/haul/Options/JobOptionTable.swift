import Arguments
import HaulSystem
import HaulTransfer
import JobModel

/// A job option on the command line: one row of ``JobOptionTable``.
struct JobOptionRow: Sendable {
  let commands: [JobOptionTable.Command]
  /// The option for a submission.
  let option: Arguments.Option<JobOptions>
  /// The option for the defaults of a queue. It also accepts `none`.
  let queueOption: Arguments.Option<QueueJobOptions>

  /// Creates an option with a value. `long` is its name on the command line if that differs from the name of the job option.
  static func value<Value: OptionValue>(
    _ option: JobOption, _ placeholder: String, _ type: Value.Type, long: String? = nil,
    for commands: [JobOptionTable.Command] = JobOptionTable.Command.allCases, _ help: String,
    _ value: @escaping @Sendable (Value) -> JobOption.Value
  ) -> JobOptionRow {
    let long = long ?? option.argumentName
    return JobOptionRow(
      commands: commands,
      option: .value(long, placeholder, of: Value.self, help) { $0[option] = value($1) },
      queueOption: .value(long, placeholder, of: Settable<Value>.self, help) { queue, setting in
        queue.set(option, setting, value)
      })
  }

  /// Creates a flag. For a queue its value is `yes` or `no`.
  static func flag(
    _ option: JobOption, for commands: [JobOptionTable.Command] = JobOptionTable.Command.allCases,
    _ help: String
  ) -> JobOptionRow {
    JobOptionRow(
      commands: commands,
      option: .deniableFlag(option.argumentName, help) { $0[option] = .flag($1) },
      queueOption: .value(
        option.argumentName, "<yes|no>", of: Settable<Answer>.self, help
      ) { queue, setting in queue.set(option, setting) { .flag($0 == .yes) } })
  }
}

extension JobOptionRow {
  /// Creates a flag that switches off an option that is on by default: `--no-record-digest`. For a queue its value is `yes` or
  /// `no`.
  fileprivate static func denial(
    _ option: JobOption, for commands: [JobOptionTable.Command], _ help: String
  ) -> JobOptionRow {
    let long = "no-" + option.argumentName
    return JobOptionRow(
      commands: commands, option: .deniableFlag(long, help) { $0[option] = .flag(!$1) },
      queueOption: .value(long, "<yes|no>", of: Settable<Answer>.self, help) { queue, setting in
        queue.set(option, setting) { .flag($0 == .no) }
      })
  }
}

/// The job options that commands take.
enum JobOptionTable {
  /// Advice for options that users type although Haul lacks them. The key is the option.
  static let habits = [
    "--record-digest":
      "Haul records the SHA-256 of each file by default. With --no-record-digest, Haul does not record it.",
    "--limit-rate":
      "--limit-rate-per-file limits each download. 'haul worker --limit-rate' limits all downloads of a worker together.",
  ]

  /// A command that takes job options.
  enum Command: CaseIterable {
    /// The options are for the command `haul submit`.
    case submit
    /// The options are for the command `haul get`.
    case get
    /// The options are for the command `haul queue set`.
    case queue
  }

  /// The rows for all job options on the command line.
  static let rows: [JobOptionRow] = [
    .value(
      .maxAttempts, "<n>", AttemptCount.self,
      "Fail the job after this many failed attempts. Default: 5."
    ) { .number(Int64($0.count)) },
    .value(
      .maxBytes, "<size>", ByteCount.self, "Fail the job if its file is larger than this size."
    ) { .number($0.bytes) },
    .value(
      .ifExists, "<policy>", CollisionPolicy.self,
      "What to do if a file has the same name: fail the job, skip the download, replace the file, or name the new one a.1.iso. Default: fail."
    ) { .text($0.rawValue) },
    .value(
      .expectType, "<type>", MediaTypeArgument.self,
      "The media type that the file must have, such as application/zip or video/*. The job fails if the server sends another type, for example an error page."
    ) { .text($0.argument) },
    .flag(
      .acceptUnverifiedLength,
      "Accept a response without Content-Length even if nothing else confirms that it is complete."),
    .flag(
      .contentDisposition,
      "Use the file name that the server sends in Content-Disposition. A file with such a name never replaces another file: with --if-exists replace, Haul adds a number to the name."
    ),
    .flag(.remoteTime, "Set the modification time of the file to the time that the server states."),
    .denial(
      .recordDigest, for: [.submit, .queue],
      "Do not record the SHA-256 of the file. 'haul verify' then compares only the length of the file, unless Haul checked a digest that you gave."
    ),
    .value(
      .credential, "<name>", CredentialArgument.self, for: [.submit, .queue],
      "The name of the credential to log in with: a file in the --credentials directory of each worker. 'haul worker --help' shows its format."
    ) { .text($0.argument) },
    .value(
      .maxRate, "<size>", RateArgument.self, long: "limit-rate-per-file",
      "Limit each download to this many bytes per second."
    ) { .number($0.rate.bytes) },
    .value(
      .connectTimeout, "<duration>", TimeoutArgument.self,
      "The maximum time to make a connection. Default: 10s."
    ) { .number($0.seconds) },
    .value(
      .stallTimeout, "<duration>", TimeoutArgument.self,
      "The maximum time without data from the source, including the wait for the first byte. Default: 60s."
    ) { .number($0.seconds) },
  ]

  /// Returns the job options that `command` accepts for a submission.
  static func options(for command: Command) -> [Option<JobOptions>] {
    rows.filter { $0.commands.contains(command) }.map(\.option)
  }
}

/// The value of a flag in a queue's defaults: `yes` or `no`.
enum Answer: String, CaseIterable, OptionValue { case yes, no }

extension CollisionPolicy: OptionValue {}

/// The maximum number of failed attempts of a job.
struct AttemptCount: OptionValue {
  static let expected = "a whole number from 1 to 1000"

  let count: Int

  init?(argument: String) {
    guard let count = Int(argument: argument), (1...1000).contains(count) else { return nil }
    self.count = count
  }

  var argument: String { count.argument }
}

/// A media type, or `type/*` for all of its subtypes.
struct MediaTypeArgument: OptionValue {
  static let expected = "a media type such as application/zip or video/*"

  let argument: String

  init?(argument: String) {
    guard ExpectedType(argument) != nil else { return nil }
    self.argument = argument.lowercased()
  }
}

/// A time limit of at least 1 second. With a shorter limit, a source that is only slow to begin would fail.
struct TimeoutArgument: OptionValue {
  static let expected = "\(Duration.expected) from 1s to 1d"

  private let duration: Duration

  init?(argument: String) {
    guard let duration = Duration(argument: argument),
      (Duration.seconds(1)...Duration.seconds(86_400)).contains(duration)
    else { return nil }
    self.duration = duration
  }

  var argument: String { duration.argument }

  /// The limit in seconds, rounded up.
  var seconds: Int64 { Int64(clamped: (duration / .seconds(1)).rounded(.up)) }
}

extension JobOption {
  /// The name of the option on the command line: `max-attempts`.
  fileprivate var argumentName: String {
    String(rawValue.map { $0 == "_" ? "-" : $0 })
  }
}
