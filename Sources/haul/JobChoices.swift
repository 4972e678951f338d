import Arguments
import JobQueue

/// What to do when a file stands under a job's final name.
enum CollisionPolicy: String, CaseIterable, OptionValue { case fail, skip, replace, rename }

/// What the jobs of a submission ask for beyond URL and path.
struct JobChoices: OptionGroup {
  static let title: String? = "JOB OPTIONS"
  static let options: [Option<Self>] = [
    .value("max-attempts", "<n>", \.maxAttempts, in: 1...1000, "Fail after so many failures."),
    .value("max-bytes", "<size>", \.maxBytes, "Fail a job whose file is larger."),
    .value(
      "if-exists", "<policy>", \.ifExists,
      "What to do when a file stands under the final name already; without it: fail."),
    .flag(
      "accept-unverified-length", \.acceptUnverifiedLength,
      "Take a body without length as complete when nothing else proves it."),
    .flag("remote-time", \.remoteTime, "Give files the time of the source's last change."),
  ]

  var maxAttempts: Int?
  var maxBytes: ByteCount?
  var ifExists: CollisionPolicy?
  var acceptUnverifiedLength = false
  var remoteTime = false

  /// As the queue takes them.
  var options: JobOptions {
    var options = JobOptions(
      ifExists: ifExists?.rawValue, maxAttempts: maxAttempts, maxBytes: maxBytes?.bytes,
      acceptUnverifiedLength: acceptUnverifiedLength ? true : nil)
    options.remoteTime = remoteTime ? true : nil
    return options
  }
}
