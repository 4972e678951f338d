import Arguments
import HaulTransfer
import JobModel

/// The job options that a submission applies to all of its jobs.
protocol SubmissionJobOptions: OptionGroup {
  static var command: JobOptionTable.Command { get }
  /// The job options that the user gave. The headers are not checked yet: a header may contain a secret, which an error must
  /// not repeat.
  var given: JobOptions { get set }
}

extension SubmissionJobOptions {
  static var title: String? { "JOB OPTIONS" }

  static func jobOptions(
    liftedBy path: any WritableKeyPath<Self, JobOptions> & Sendable
  ) -> [Option<Self>] {
    let header: Option<JobOptions> = .values(
      "header", "<header>", \.headerTexts,
      "A request header, such as 'Referer: https://example.org/'. You can repeat the option. Haul does not send the header to other origins after a redirect."
    )
    return ([header] + JobOptionTable.options(for: command)).map { $0.lifted(to: path) }
  }

  /// Returns the options with checked headers.
  ///
  /// - Throws: `ExitError` for a header that is not allowed.
  func options() throws(ExitError) -> JobOptions {
    var options = given
    do throws(RequestField.Problem) {
      options.headers = try given.headers.map { texts throws(RequestField.Problem) in
        try RequestField.all(texts).map(\.text)
      }
    } catch {
      if case .secret(let name) = error, Self.command == .get {
        throw ExitError(
          .usage,
          "the header \(name) contains a secret, and other users can see command lines. Use --cookies for cookies, and --credential or --netrc for a login."
        )
      }
      throw ExitError(.usage, "\(error).")
    }
    return options
  }
}

/// The job options of `haul submit`.
struct SubmitJobOptions: SubmissionJobOptions {
  static let command = JobOptionTable.Command.submit
  static let options: [Option<Self>] = jobOptions(liftedBy: \.given)
  var given = JobOptions()
}

/// The job options of `haul get`.
struct GetJobOptions: SubmissionJobOptions {
  static let command = JobOptionTable.Command.get
  static let options: [Option<Self>] = jobOptions(liftedBy: \.given)
  var given = JobOptions()
}

extension JobOptions {
  /// The headers as given on the command line.
  fileprivate var headerTexts: [String] {
    get { headers ?? [] }
    set { headers = newValue }
  }
}
