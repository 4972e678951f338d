import Glibc
import HaulSystem

/// Why a list could not be read to its end. Each description is one clause without its full stop, to
/// follow the name of the list.
package enum ListError: Error, Equatable, CustomStringConvertible {
  /// The file could not be opened or read: an `errno`.
  case unreadable(code: Int32)
  /// The file is not lines of text; the clause says what it is.
  case noText(String)

  package var description: String {
    switch self {
    case .unreadable(let code): SystemError.reason(code)
    case .noText(let clause): clause
    }
  }
}
