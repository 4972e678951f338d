import Arguments
import HaulTransfer
import StatusPage

extension ListenAddress: OptionValue {
  package static var expected: String {
    "an address and a port, such as 127.0.0.1:9464 or [::1]:9464"
  }
  package init?(argument: String) { self.init(argument) }
  package var argument: String { description }
}

/// The address at which metrics and the status page are served.
struct ListenOptions: OptionGroup {
  static let title: String? = "PAGE OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "listen", "<address:port>", \.address, environment: "HAUL_LISTEN",
      """
      Serve a live page (/), metrics (/metrics), /healthz and /readyz on this address. All addresses except \
      loopback need a token.
      """),
    .value(
      "listen-token-file", "<file>", \.tokenFile, environment: "HAUL_LISTEN_TOKEN_FILE",
      """
      A file whose first line is the token. Programs send the token as a bearer token. In a browser, type the \
      token once into the form. Only the owner of the file may have permission to read it.
      """
    ).from(.files),
  ]

  var address: ListenAddress?
  var tokenFile: String?

  /// Returns the token, or nil if none is needed. Blocks.
  /// - Throws: `SecretFile.Problem`, `ListenError`.
  func token() throws -> ListenToken? {
    guard let tokenFile else { return nil }
    return try ListenToken(firstLineOf: SecretFile.read(tokenFile), path: tokenFile)
  }
}
