import Glibc
import HaulSystem

/// The reason why the status page cannot listen on an address.
package enum ListenError: Error, Sendable, Equatable {
  /// Another program uses the port, or used it a moment ago.
  case inUse(ListenAddress)
  /// The kernel refuses the address. `errno` gives the reason: this machine has no such address, or the user has no right to
  /// use the port.
  case refused(ListenAddress, errno: Int32)
  /// The address can be reached from other machines, but no token is set.
  case needsToken(ListenAddress)
  /// The token file cannot be used. The text gives the reason, but never the file's content.
  case token(path: String, String)
  /// The system has no thread or memory for the server.
  case noRoom
}

extension ListenError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .inUse(let address):
      "another program already listens on \(address); choose another port with --listen"
    case .refused(let address, let number):
      "cannot listen on \(address): \(SystemError.reason(number))"
        + (number == EACCES && address.port < 1024
          ? "; only root may use ports below 1024: choose another port" : "")
    case .needsToken(let address):
      "other machines can reach \(address): name a file with a token in --listen-token-file, or listen on 127.0.0.1"
    case .token(let path, let reason): "the token file \(path) \(reason)"
    case .noRoom: "there are not enough threads or memory for the status page"
    }
  }
}
