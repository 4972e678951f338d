import Arguments
import Transfer

/// A host, or a pattern of hosts, spelled as those of jobs are: in lower case, without the port that its scheme has anyway.
///
/// What is no host is left as it is: the database says so.
struct HostArgument: OptionValue {
  static let expected = "a host such as example.org or example.org:8443"

  /// What a property holds until its required operand is read.
  static let unset = HostArgument(argument: "")

  let argument: String

  init(argument: String) {
    let wildcard = argument.hasPrefix("*.") ? "*." : ""
    let name = argument.dropFirst(wildcard.count)
    self.argument = wildcard + (Self.hostKey(of: name) ?? String(name))
  }

  /// As ``WebURL/hostKey`` of a URL that has this host and port, with the scheme whose port that is; otherwise http.
  private static func hostKey(of name: Substring) -> String? {
    guard !name.contains(where: { "/@?#*% ".contains($0) }) else { return nil }
    let port = name.split(separator: ":").last.flatMap { Int($0) }
    let scheme =
      switch port {
      case 21: "ftp"
      case 22: "sftp"
      case 443: "https"
      default: "http"
      }
    return (try? WebURL("\(scheme)://\(name)/", schemes: WebURL.knownSchemes))?.hostKey
  }
}
