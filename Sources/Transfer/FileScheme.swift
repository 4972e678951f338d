/// URLs of files, by FTP (RFC 959), FTP over TLS (RFC 4217) and SFTP (draft-ietf-secsh-filexfer).
extension WebURL {
  /// What is always fetched, and all that a redirect may lead to.
  package static let webSchemes: Set<String> = ["http", "https"]
  /// What is fetched where ``Engine/Configuration/allowedSchemes`` has it.
  package static let fileSchemes: Set<String> = ["ftp", "ftps", "sftp"]
  /// What can be submitted.
  package static let knownSchemes = webSchemes.union(fileSchemes)

  /// Whether another protocol than HTTP is spoken.
  package var isFile: Bool { Self.fileSchemes.contains(scheme) }

  /// Why the URL names no single file that could be fetched; nil for one that does, and for those of HTTP.
  ///
  /// libcurl lists a directory where the path, with `%2F` decoded, ends in a slash, and does what `;type=` says (RFC 1738
  /// §3.2.2): the one would be saved as if it were a file, the other changes line ends.
  package var noFile: TransferError? {
    guard isFile else { return nil }
    let why: String? =
      if path.isEmpty || path == "/" {
        "the URL names a host and no file"
      } else if path.hasSuffix("/") || path.lowercased().hasSuffix("%2f") {
        "the URL names a directory, for it ends in '/', and only files are fetched"
      } else if path.lowercased().contains(";type=") {
        "the URL says ';type=', and files are fetched as they are"
      } else if query != nil {
        "a '?' is part of a file's name here, and is written %3F"
      } else {
        nil
      }
    return why.map { TransferError(.blockedURL, $0, host: hostKey) }
  }
}

/// Who asks, where the protocol has a login of its own.
package struct Login: Sendable, Hashable {
  package var user: String
  /// Sent over TLS or SSH only.
  package var password: String?
  /// A private key in OpenSSH's format or PEM, without a passphrase; for SFTP alone.
  package var keyPath: String?

  package init(user: String, password: String? = nil, keyPath: String? = nil) {
    self.user = user
    self.password = password
    self.keyPath = keyPath
  }
}

extension Engine.Configuration {
  /// What is asked for by FTP or SFTP must be a file, and the way to it be one that proves the server and hides the password.
  ///
  /// - Throws: `blocked_url`, `proxy`, `tls` or `no_credential`.
  func requireFile(of request: ExchangeRequest) throws(TransferError) {
    guard let url = try? WebURL(request.url, schemes: WebURL.knownSchemes), url.isFile else {
      return
    }
    func refusal(
      _ errorClass: TransferError.Class, _ message: String, _ remedy: TransferError.Remedy? = nil
    ) -> TransferError {
      TransferError(errorClass, message, remedy: remedy, host: url.hostKey)
    }
    guard allowedSchemes.contains(url.scheme) else {
      throw refusal(
        .blockedURL, "the URL's scheme is '\(url.scheme)', which is not allowed",
        .allowScheme(url.scheme))
    }
    if let error = url.noFile { throw error }
    // An HTTP proxy would fetch by itself what is asked of it in FTP, and judge nothing.
    if proxy != nil {
      throw refusal(.proxy, "what is fetched by \(url.scheme) does not go through a proxy")
    }
    guard url.scheme == "sftp" else { return }
    // Without a file libcurl takes any server for the right one.
    if knownHosts == nil { throw refusal(.tls, "no file of known hosts says who the server is") }
    if request.login == nil {
      throw refusal(
        .noCredential, "sftp wants a user, and a password or a key; no credential is named",
        .login(machine: url.hostKey))
    }
  }
}
