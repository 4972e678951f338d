import Arguments
import EmbeddedPostgres
import Glibc
import HaulSystem
import HaulTransfer
import JobModel
import JobQueue
import ListFormats
import LocalPool
import Postgres
import Reports
import StatusPage
import Stores
import Submitting
import Worker

/// The one place that says how an error of any kind ends a command, and what to do about it.
extension ExitError {
  /// The code and sentence for `error`; `unknownName` is the code where a name does not exist, `role` what the
  /// command needs of the database.
  ///
  /// The sentence holds no password and no connection string.
  init(from error: any Error, unknownName: ExitCode = .badInput, role: PoolRole? = nil) {
    switch error {
    case let error as ExitError: self = error
    case let error as JobQueueError: self.init(error, unknownName)
    case let error as PostgresError where error.sqlState == .uniqueViolation:
      self.init(.badInput, "that name is taken already; nothing was changed.")
    case let error as PostgresError where error.isRefusedStatement: self.init(lacking: role)
    case let error as PostgresError: self.init(error)
    case let error as EmbeddedPostgresError: self.init(error)
    case let error as ListError: self.init(error)
    case let error as ListenError: self.init(error)
    case let error as StoreError: self.init(error)
    case let error as SubmissionError: self.init(.badInput, Self.sentence("\(error)"))
    case is DescriptorLimit.TooLow, is StandingStoreGone: self.init(.configuration, "\(error).")
    case let problem as SecretFile.Problem: self.init(.configuration, "\(problem).")
    case is SubmissionProblem: self.init(.badInput, "\(error).")
    case is DrainTimeout: self.init(.tryAgain, "\(error).")
    case let error as TransferError: self.init(error)
    case let error as SystemError:
      self.init(.inputOutput, "\(error).")
    case is CancellationError: self.init(.tryAgain, "stopped before it was done.")
    case is DecodingError:
      self.init(
        .configuration,
        "the database answers what this program does not understand: run 'haul migrate', or use the "
          + "haul that last migrated it.")
    default: self.init(.tryAgain, "\(error)")
    }
  }

  /// For `options` that are about a single URL, where there is none or more than one.
  init(needingOneURL options: [String]) {
    self.init(
      .usage,
      "\(options.joined(separator: " and ")) \(options.count == 1 ? "needs" : "need") exactly one URL."
    )
  }

  private init(_ error: JobQueueError, _ unknownName: ExitCode) {
    let code: ExitCode =
      switch error {
      case .schemaTooNew, .schemaTooOld, .schemaMissing, .versionNotServed, .wrongEncoding,
        .foreignSchema:
        .configuration
      case .noSuchName: unknownName
      case .refused, .pathTaken: .badInput
      // Its row was cleared away while it was cut off; it registers anew when it is started again.
      case .unknownWorker, .busy: .tryAgain
      }
    var sentence = Self.sentence("\(error)")
    if case .noSuchName(_, _, let others?) = error,
      let near = Suggestion.nearest(to: others.given, among: others.names)
    {
      sentence += " Did you mean '\(near)'?"
    }
    self.init(code, sentence)
  }

  /// What this machine refuses is no fault of what was asked for.
  private init(_ error: TransferError) {
    let code: ExitCode =
      switch error.errorClass {
      case .io, .openFiles, .diskFull: .inputOutput
      default: .badInput
      }
    self.init(code, Self.sentence(error.message))
  }

  /// A port may be free again soon; what else is wrong with an address stays so.
  private init(_ error: ListenError) {
    let code: ExitCode =
      switch error {
      case .inUse, .noRoom: .unavailable
      case .refused(_, errno: EACCES), .refused(_, errno: EPERM): .notPermitted
      case .refused, .needsToken, .token: .configuration
      }
    self.init(code, Self.sentence("\(error)"))
  }

  /// The user lacks what `role` has.
  init(lacking role: PoolRole?) {
    let advice = "Connect as a user that has it, or let an administrator grant it."
    self.init(
      .notPermitted,
      role.map { "this needs the role \($0.rawValue). \(advice)" }
        ?? "this needs a user that may create roles and schemas, or who made this one.")
  }

  private init(_ error: PostgresError) {
    let (code, advice): (ExitCode, String)
    switch error {
    case .configuration(let reason) where PostgresError.isOfService(reason):
      (code, advice) = (
        .configuration,
        "Check the service's name, ~/.pg_service.conf or the file that PGSERVICEFILE names, and the system's pg_service.conf, on Debian in /etc/postgresql-common."
      )
    case .noPassword:
      (code, advice) = (.configuration, "Check --database, HAUL_DATABASE_URL or ~/.pgpass.")
    case .configuration:
      (code, advice) = (.configuration, "Check --database or HAUL_DATABASE_URL.")
    case .connecting(let state?, _) where state == .insufficientPrivilege:
      (code, advice) = (.notPermitted, "Ask for the right to connect.")
    case .connecting(.invalidAuthorization?, let reason) where Self.isOfStranger(reason):
      (code, advice) = (
        .configuration,
        "Name a user that is there with user= in --database, or \(Self.adviceForStranger)"
      )
    case .connecting(.invalidAuthorization?, _):
      (code, advice) = (
        .configuration,
        "Check the user in --database or HAUL_DATABASE_URL, and what pg_hba.conf asks of it: sslmode, sslcert, sslkey."
      )
    case .connecting(let state?, _) where state.isInClass("28"):
      (code, advice) = (
        .configuration, "Check user and password in --database, HAUL_DATABASE_URL or ~/.pgpass."
      )
    case .connecting(let state?, _) where state == .invalidCatalogName:
      (code, advice) = (
        .configuration, "Check the database's name in --database or HAUL_DATABASE_URL."
      )
    case .connecting(nil, let reason)
    where Self.isOfThisSide(reason) && reason.hasSuffix(": Permission denied"):
      (code, advice) = (
        .configuration,
        "Let this user read it; a key may also be root's and readable by this user's group (chmod 640)."
      )
    case .connecting(nil, let reason) where Self.isOfThisSide(reason):
      (code, advice) = (
        .configuration,
        "Check the files and names in --database, HAUL_DATABASE_URL or the service file."
      )
    case .connecting:
      (code, advice) = (
        .unavailable,
        "Check that the server runs and that --database or HAUL_DATABASE_URL names it."
      )
    case .server(let server): (code, advice) = Self.verdict(on: server.state)
    case .connectionLost, .timedOut:
      (code, advice) = (.tryAgain, "Whether the last step took effect is unknown; try again.")
    case .decoding, .misuse:
      (code, advice) = (
        .configuration, "Run 'haul migrate', or use the haul that last migrated it."
      )
    }
    self.init(code, "\(Self.sentence("\(error)")) \(advice)")
  }

  /// Whether a server on a local socket has no role of the user's name, which is the system's user where none is given.
  static func isOfStranger(_ reason: String) -> Bool {
    reason.contains(" on socket ") && reason.contains(/role ".*" does not exist/)
  }

  /// The end of a sentence.
  static let adviceForStranger =
    "run it as a user that this PostgreSQL knows, as with 'runuser -u postgres -- haul …'."

  /// Whether libpq could not connect for what it was told and found here (fe-secure-openssl.c, fe-connect.c): waiting does not
  /// mend it.
  private static func isOfThisSide(_ reason: String) -> Bool {
    [
      "certificate file", "private key file", "does not match host name",
      "certificate verify failed",
      "certificate revocation list", "invalid port number", "invalid integer value", " value: \"",
    ].contains { reason.contains($0) }
  }

  /// What a refused statement means, by class of its code (PostgreSQL manual, appendix A).
  private static func verdict(on state: SQLState) -> (ExitCode, String) {
    if ["22", "23"].contains(where: state.isInClass) {
      return (.badInput, "Nothing was changed.")
    }
    if ["08", "40", "53", "55", "57"].contains(where: state.isInClass) {
      return (.tryAgain, "Try again.")
    }
    return (.configuration, "Run 'haul migrate' with the newest haul in use.")
  }

  private init(_ error: EmbeddedPostgresError) {
    let code: ExitCode =
      switch error {
      case .programsMissing, .noServerUser, .notCreated, .notStarted, .runsElsewhere: .unavailable
      case .otherMajor, .noHome, .networkFileSystem: .configuration
      case .notOurs, .notPermitted: .notPermitted
      case .diskFull, .openFiles, .inputOutput: .inputOutput
      case .cancelled: .tryAgain
      }
    self.init(code, Self.sentence("\(error)"))
  }

  private init(_ error: ListError) {
    self.init(error.exitCode, "\(error).")
  }

  private init(_ error: StoreError) {
    switch error {
    case .absent, .noDirectory, .noMarker, .unreadableMarker: self.init(.configuration, "\(error).")
    case .unwritable: self.init(.inputOutput, "\(error).")
    case .notPermitted: self.init(.notPermitted, "\(error).")
    }
  }

  /// `text` on one line with a full stop.
  private static func sentence(_ text: String) -> String {
    let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
    return [".", "!", "?"].contains { line.hasSuffix($0) } ? line : line + "."
  }
}

extension PostgresError {
  /// A server that is connected to does not permit a statement.
  fileprivate var isRefusedStatement: Bool {
    if case .server(let error) = self { error.state == .insufficientPrivilege } else { false }
  }
}
