import Arguments
import HaulTransfer
import JobQueue

/// What to do when a file stands under a job's final name.
enum CollisionPolicy: String, CaseIterable, OptionValue { case fail, skip, replace, rename }

/// What the jobs of a submission ask for beyond URL and path.
struct JobChoices: OptionGroup {
  static let title: String? = "JOB OPTIONS"
  static let options: [Option<Self>] = [
    .values(
      "header", "<header>", \.headers,
      "A header to ask with, such as 'Referer: https://example.org/'; may be repeated. Not to other origins that a redirect leads to."
    ),
    .value("max-attempts", "<n>", \.maxAttempts, in: 1...1000, "Fail after so many failures."),
    .value("max-bytes", "<size>", \.maxBytes, "Fail a job whose file is larger."),
    .value(
      "if-exists", "<policy>", \.ifExists,
      "What to do when a file stands under the final name already; without it: fail."),
    .deniableFlag(
      "accept-unverified-length", \.acceptUnverifiedLength,
      "Take a body without length as complete when nothing else proves it."),
    .deniableFlag(
      "remote-time", \.remoteTime, "Give files the time of the source's last change."),
    .value(
      "connect-timeout", "<duration>", \.connectTimeout, in: Self.timeouts,
      "How long a connection may take to be made; without it: 10s."),
    .value(
      "stall-timeout", "<duration>", \.stallTimeout, in: Self.timeouts,
      "How long the source may go without sending, the answer's head included; without it: 60s."),
  ]

  /// Not yet read: a refusal of one that holds a secret must not repeat it.
  var headers: [String] = []
  var maxAttempts: Int?
  var maxBytes: ByteCount?
  var ifExists: CollisionPolicy?
  var acceptUnverifiedLength: Bool?
  var remoteTime: Bool?
  var connectTimeout: Duration?
  var stallTimeout: Duration?

  /// Shorter ones would fail what is only slow to begin.
  static let timeouts = Duration.seconds(1)...Duration.seconds(86_400)

  /// As the queue takes them.
  ///
  /// - Throws: where a header may not be sent.
  func options() throws(ExitError) -> JobOptions {
    var options = JobOptions(
      ifExists: ifExists?.rawValue, maxAttempts: maxAttempts, maxBytes: maxBytes?.bytes,
      acceptUnverifiedLength: acceptUnverifiedLength)
    do throws(RequestField.Problem) {
      if !headers.isEmpty { options.headers = try RequestField.all(headers).map(\.text) }
    } catch {
      throw ExitError(.usage, "\(error).")
    }
    options.remoteTime = remoteTime
    options.connectTimeout = connectTimeout?.wholeSeconds
    options.stallTimeout = stallTimeout?.wholeSeconds
    return options
  }
}

extension Duration {
  /// Rounded up.
  var wholeSeconds: Int { Int((self / .seconds(1)).rounded(.up)) }
}
