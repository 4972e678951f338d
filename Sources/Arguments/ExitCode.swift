/// The exit code of a command, for scripts and service managers. Codes from 64 to 78 are from `sysexits.h`.
package enum ExitCode: Int32, CaseIterable, Sendable {
  case success = 0
  /// The command did its work, but some jobs failed or were cancelled.
  case failed = 1
  case usage = 64
  /// A line of a list is wrong, or a name does not exist. The command changed nothing.
  case badInput = 65
  case unavailable = 69
  case inputOutput = 74
  /// The failure is temporary. The command may work when it is run again later.
  case tryAgain = 75
  case notPermitted = 77
  case configuration = 78

  /// The meaning of the code in a few words, for help.
  package var meaning: String {
    switch self {
    case .success: "success"
    case .failed: "some jobs failed or were cancelled"
    case .usage: "wrong usage"
    case .badInput: "bad input, or a name that does not exist"
    case .unavailable: "database unreachable, or a port in use"
    case .inputOutput: "input or output failed"
    case .tryAgain: "not finished: run the same command again, now or later"
    case .notPermitted: "not permitted"
    case .configuration: "wrong configuration"
    }
  }

  /// The codes in help and in the manual: all cases, and the code that shells report for a program that Ctrl-C stopped.
  static var table: [(code: String, meaning: String)] {
    allCases.map { ("\($0.rawValue)", $0.meaning) } + [
      (
        "130",
        "stopped by Ctrl-C. Exceptions: get exits with 75 if files are left; up, worker and coordinator exit with 0 (75 after a second Ctrl-C)"
      )
    ]
  }
}

/// An error that ends a command with an exit code and a sentence on standard error. The message is nil if the command has
/// already printed enough.
package struct ExitError: Error, Equatable {
  package var code: ExitCode
  package var message: String?

  /// Creates the error. `message` is one sentence without the command's name and without secrets.
  package init(_ code: ExitCode, _ message: String? = nil) {
    self.code = code
    self.message = message
  }
}
