/// How a command ended, for scripts and service managers. Numbers above 63 are those of
/// `sysexits.h`.
package enum ExitCode: Int32, CaseIterable, Sendable {
  case success = 0
  /// Some jobs failed or were cancelled; the command itself did its work.
  case failed = 1
  case usage = 64
  /// A wrong line of a list, or a name that does not exist; nothing was changed.
  case badInput = 65
  case unavailable = 69
  case inputOutput = 74
  /// Nothing is wrong for good; the same command may work later.
  case tryAgain = 75
  case notPermitted = 77
  case configuration = 78

  /// A few words for help.
  package var meaning: String {
    switch self {
    case .success: "success"
    case .failed: "some jobs failed or were cancelled"
    case .usage: "wrong usage"
    case .badInput: "bad input, or a name that does not exist"
    case .unavailable: "database unreachable, or a port in use"
    case .inputOutput: "input or output failed"
    case .tryAgain: "try again later"
    case .notPermitted: "not permitted"
    case .configuration: "wrong configuration"
    }
  }

  /// What help and manual list: all codes, and the one that shells give a program which a signal has ended.
  static var table: [(code: String, meaning: String)] {
    allCases.map { ("\($0.rawValue)", $0.meaning) } + [
      (
        "130",
        "stopped by Ctrl-C (get, up, worker and coordinator stop gracefully and exit with 0 or 75)"
      )
    ]
  }
}

/// Ends a command with a code, and a sentence on standard error unless the command has said
/// enough already.
package struct ExitError: Error, Equatable {
  package var code: ExitCode
  package var message: String?

  /// `message` is one sentence without the command's name and without secrets.
  package init(_ code: ExitCode, _ message: String? = nil) {
    self.code = code
    self.message = message
  }
}
