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

/// Converts any error to an exit code and a sentence, with advice for the user.
extension ExitError {
  /// Creates the exit code and sentence for `error`. `unknownName` is the code for a name that does not exist. `otherVersion`
  /// is the code for a database whose version does not fit this program. `role` is the role of the database that the command
  /// needs.
  ///
  /// The sentence contains no password and no connection string.
  init(
    from error: any Error, unknownName: ExitCode = .badInput,
    otherVersion: ExitCode = .configuration, role: PoolRole? = nil
  ) {
    switch error {
    case let error as ExitError: self = error
    case let error as JobQueueError: self.init(error, unknownName, otherVersion)
    case let error as PostgresError where error.sqlState == .uniqueViolation:
      self.init(
        .badInput, "this name is already in use. Nothing was changed. Choose another name."
      )
    case let error as RefusedStatement:
      self.init(lacking: role, prefix: error.prefix, because: error.refusal)
    case let error as PostgresError where error.isRefusedStatement:
      self.init(lacking: role, prefix: RolePrefix.usual, because: error)
    case let error as PostgresError where error.isOfPooler:
      self.init(.configuration, Self.sentence("\(error)"))
    case let error as PostgresError: self.init(error)
    case let error as EmbeddedPostgresError: self.init(error)
    case let error as ListError: self.init(error)
    case let error as ListenError: self.init(error)
    case let error as StoreError: self.init(error)
    case let error as SubmissionError where error.isOfDatabase:
      let row = DatabaseErrorTable.unexplained
      let advice = "Run the same command again: it skips jobs that exist. \(row.advice)"
      self.init(row.code, "\(Self.sentence("\(error)")) \(advice)")
    case let error as SubmissionError: self.init(.badInput, Self.sentence("\(error)"))
    case is DescriptorLimit.TooLow, is StandingStoreGone: self.init(.configuration, "\(error).")
    case let problem as SecretFile.Problem: self.init(.configuration, "\(problem).")
    case is SubmissionProblem: self.init(.badInput, "\(error).")
    case is DrainTimeout: self.init(.tryAgain, "\(error).")
    case let error as TransferError: self.init(error)
    case let error as SystemError:
      self.init(.inputOutput, "\(error).")
    case is CancellationError:
      self.init(.tryAgain, "the command was stopped before it had finished.")
    case is DecodingError:
      self.init(
        .configuration,
        "this program does not understand an answer of the database, because the schema is from another Haul version. Run "
          + "'haul migrate', or use the Haul version that last migrated the database.")
    default: self.init(.tryAgain, "\(error)")
    }
  }

  /// Creates the error for `options` that need exactly one URL.
  init(needingOneURL options: [String]) {
    self.init(
      .usage,
      "\(options.joined(separator: " and ")) \(options.count == 1 ? "needs" : "need") exactly one URL."
    )
  }

  private init(_ error: JobQueueError, _ unknownName: ExitCode, _ otherVersion: ExitCode) {
    let code: ExitCode =
      switch error {
      case .schemaTooNew, .schemaMissing, .versionNotServed: otherVersion
      case .functionsTooNew, .rolesTaken, .rolesExist, .otherPrefix, .schemaTooOld, .wrongEncoding,
        .foreignSchema:
        .configuration
      case .noSuchName: unknownName
      case .refused, .pathTaken: .badInput
      // The worker's row was removed while the worker was cut off. The worker registers again when it is restarted.
      case .unknownWorker, .busy: .tryAgain
      }
    var sentence = Self.sentence("\(error)")
    if case .rolesExist(let prefix) = error {
      sentence +=
        " Use --role-prefix NAME to give this pool other roles, or --role-prefix \(prefix) to use these roles and their logins."
    }
    if case .rolesTaken = error {
      sentence += " Use --role-prefix NAME to give this pool roles of its own."
    }
    if error == .functionsTooNew {
      sentence +=
        " Use --force to replace the newer functions and views with the older ones of this program."
    }
    // The job, queue or host may be in another pool.
    if case .noSuchName(let message, let hint, _) = error, message.hasPrefix("there is no ") {
      let told = message + ConnectedPool.clause
      sentence = Self.sentence(hint.map { "\(told). \($0)" } ?? told)
    }
    if case .noSuchName(_, _, let others?) = error,
      let near = Suggestion.nearest(to: others.given, among: others.names)
    {
      sentence += " Did you mean '\(near)'?"
    }
    self.init(code, sentence)
  }

  /// Creates the error for a failed transfer. A failure of this machine does not count as bad input.
  private init(_ error: TransferError) {
    let code: ExitCode =
      switch error.errorClass {
      case .io, .openFiles, .diskFull: .inputOutput
      case .notPermitted: .notPermitted
      default: .badInput
      }
    self.init(code, Self.sentence(error.message))
  }

  /// Creates the error for an address on which Haul cannot listen. A port that is in use may soon be free. Other problems with
  /// an address are permanent.
  private init(_ error: ListenError) {
    let code: ExitCode =
      switch error {
      case .inUse, .noRoom: .unavailable
      case .refused(_, errno: EACCES), .refused(_, errno: EPERM): .notPermitted
      case .refused, .needsToken, .token: .configuration
      }
    self.init(code, Self.sentence("\(error)"))
  }

  /// Creates the error for a user who lacks the rights of `role` in a pool whose roles begin with `prefix`. If `role` is nil,
  /// no role of the pool is enough, and the message contains the server's `refusal`.
  init(lacking role: PoolRole?, prefix: String, because refusal: PostgresError? = nil) {
    let advice = "Connect as a user that has this role, or ask an administrator to grant it."
    if let role {
      self.init(.notPermitted, "this command needs the role \(role.name(prefix)). \(advice)")
      return
    }
    let reason = refusal.map { "\($0): " } ?? ""
    self.init(
      .notPermitted,
      "\(reason)this command needs a user that may create roles and schemas. If Haul's roles exist, this user must be a member of \(PoolRole.admin.name(prefix)), which must own the schema of the pool and its objects. The user who created the roles can grant this membership."
    )
  }

  private init(_ error: PostgresError) {
    let (code, advice): (ExitCode, String)
    switch error {
    case .connectionLost, .timedOut:
      (code, advice) = (
        .tryAgain, "It is not known whether the database carried out the last step. Try again."
      )
    case .decoding, .noSession, .noTransactions, .misuse:
      (code, advice) = (
        .configuration,
        "Run 'haul migrate', or use the Haul version that last migrated the database."
      )
    case .configuration, .connecting, .server:
      let row = DatabaseErrorTable.row(for: error) ?? DatabaseErrorTable.unexplained
      (code, advice) = (row.code, row.advice)
    }
    self.init(code, "\(Self.sentence("\(error)")) \(advice)")
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

  /// Returns `text` on one line with a full stop.
  private static func sentence(_ text: String) -> String {
    let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
    return [".", "!", "?"].contains { line.hasSuffix($0) } ? line : line + "."
  }
}

extension PostgresError {
  /// Whether the server refused a statement because this user has no permission for it.
  var isRefusedStatement: Bool {
    if case .server(let error) = self { error.state == .insufficientPrivilege } else { false }
  }
}

/// The error for a statement that the server refused for lack of permission. The role names of the pool begin with `prefix`.
struct RefusedStatement: Error {
  let prefix: String
  let refusal: PostgresError
}
