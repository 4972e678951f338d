extension Engine.Configuration {
  /// Checks an FTP or SFTP request: the scheme must be allowed, the URL must name a file, and there must be no proxy. SFTP also
  /// needs a known hosts file and a login. Does nothing for HTTP.
  ///
  /// - Throws: `blocked_url`, `proxy`, `tls` or `no_credential`.
  func requireFile(of request: ExchangeRequest) throws(TransferError) {
    let scheme = request.url.utf8.prefix { $0 != UInt8(ascii: ":") }
    if WebURL.webSchemes.contains(String(Substring(scheme)).lowercased()) { return }
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
    // An HTTP proxy would fetch an FTP URL by itself, and check nothing.
    if proxy != nil {
      throw refusal(.proxy, "\(url.scheme) downloads cannot use a proxy")
    }
    guard url.scheme == "sftp" else { return }
    // Without a known hosts file, libcurl accepts any server.
    if knownHosts == nil { throw refusal(.tls, "sftp needs a known hosts file, but none is set") }
    if request.login == nil {
      throw refusal(
        .noCredential,
        "sftp needs a user with a password or a key, but the download has no login",
        .login(machine: url.hostKey))
    }
  }
}
