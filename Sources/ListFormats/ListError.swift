import Glibc
import HaulSystem

/// The reason why a list could not be read to its end. The description is a clause without its full stop, to follow the name of
/// the list.
package enum ListError: Error, Equatable, CustomStringConvertible {
  /// The file could not be opened or read. `code` is an `errno`.
  case unreadable(code: Int32)
  /// The file does not consist of lines of text. The string says what it is instead, as a clause.
  case noText(String)

  package var description: String {
    switch self {
    case .unreadable(let code): SystemError.reason(code)
    case .noText(let clause): clause
    }
  }
}
