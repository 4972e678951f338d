import Arguments
import HaulTransfer
import JobQueue

/// A host or a pattern of hosts, spelled as in jobs: in lower case, without its scheme's default port.
///
/// Text that is not a host stays unchanged. The database rejects it.
struct HostArgument: OptionValue {
  static let expected = "a host such as example.org or example.org:8443"

  /// The value of a property before its required operand is read.
  static let unset = HostArgument(argument: "")

  let argument: String
  /// The argument as it was typed.
  let typed: String

  init(argument: String) {
    typed = argument
    let wildcard = argument.hasPrefix("*.") ? "*." : ""
    let name = argument.dropFirst(wildcard.count)
    self.argument = wildcard + (Self.hostKey(of: name) ?? String(name))
  }

  /// Calls `body` with the host as typed, because earlier versions stored such names. If that name does not exist, calls `body`
  /// with the name as spelled in jobs.
  func orAsTyped<T: Sendable>(_ body: (String) async throws -> T) async throws -> (String, T) {
    do {
      return (typed, try await body(typed))
    } catch JobQueueError.noSuchName where typed != argument {
      return (argument, try await body(argument))
    }
  }

  /// Returns the ``WebURL/hostKey`` of a URL with this host and port. The port determines the scheme; the default is http.
  /// Returns nil if there is no such URL.
  private static func hostKey(of name: Substring) -> String? {
    guard !name.contains(where: { "/@?#*% ".contains($0) }) else { return nil }
    let port = name.split(separator: ":").last.flatMap { Int($0) }
    let scheme =
      switch port {
      case 21: "ftp"
      case 22: "sftp"
      case 443: "https"
      case 990: "ftps"
      default: "http"
      }
    return (try? WebURL("\(scheme)://\(name)/", schemes: WebURL.knownSchemes))?.hostKey
  }
}
