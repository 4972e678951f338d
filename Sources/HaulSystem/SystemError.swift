import Glibc
import HaulCLinux

/// The error of a failed system call.
///
/// The description is a sentence for people, without a full stop at the end. A caller that knows more about the object
/// translates the error into an error of its own.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The name of the system call, from section 2 or 3 of the manual.
  package let call: String
  /// The path of the file or directory; nil if the call had no path.
  package let path: String?
  /// The error number, from `errno`.
  package let number: Int32

  /// Creates the error.
  ///
  /// - Parameter number: the error number. Default: the current `errno`.
  package init(_ call: String, _ path: String? = nil, _ number: Int32 = errno) {
    self.call = call
    self.path = path
    self.number = number
  }

  /// The system's English text for ``number``, such as "No space left on device". (strerrordesc_np(3))
  package var reason: String { Self.reason(number) }

  /// Returns the system's English text for an error number. (strerrordesc_np(3))
  package static func reason(_ number: Int32) -> String {
    unsafe String(cString: haul_error_text(number))
  }

  package var description: String {
    let object = path.map { " \($0)" } ?? ""
    let what =
      switch call {
      case "open": "cannot open\(object)"
      case "opendir": "cannot open the directory\(object)"
      case "fsync", "fdatasync": "cannot sync\(path == nil ? " a file or directory" : object)"
      case "fstat": "cannot read the status of an open file"
      case "fstatat": "cannot read the status of\(object)"
      case "write": "cannot write\(object)"
      case "pthread_create": "cannot start a thread"
      default: "\(call)\(object) failed"
      }
    return "\(what): \(reason)"
  }
}
