import Glibc

/// Why a list could not be read. Each description is one sentence without its final full stop, to
/// follow the name of the list.
package enum ListError: Error, Equatable, CustomStringConvertible {
  case lineTooLong(line: Int)
  case notUTF8(line: Int)
  /// The file could not be opened or read: an `errno`.
  case unreadable(code: Int32)

  package var description: String {
    switch self {
    case .lineTooLong(let line): "line \(line) is longer than 64 KiB"
    case .notUTF8(let line): "line \(line) is not UTF-8"
    case .unreadable(let code): unsafe String(cString: strerror(code))
    }
  }
}
