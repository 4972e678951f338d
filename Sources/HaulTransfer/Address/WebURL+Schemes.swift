/// URLs of files over FTP (RFC 959), FTP over TLS (RFC 4217) and SFTP (draft-ietf-secsh-filexfer).
extension WebURL {
  /// Schemes that are always allowed. A redirect may lead only to a URL with one of these schemes.
  package static let webSchemes: Set<String> = ["http", "https"]
  /// Schemes that are allowed only if ``DownloaderConfiguration/allowedSchemes`` contains them: FTP and SFTP.
  package static let fileSchemes: Set<String> = ["ftp", "ftps", "sftp"]
  /// All schemes that a submitted URL may have.
  package static let knownSchemes = webSchemes.union(fileSchemes)

  /// Whether the URL's scheme is `ftp`, `ftps` or `sftp`.
  package var isFile: Bool { Self.fileSchemes.contains(scheme) }

  /// The error for an FTP or SFTP URL that does not name a single file; nil for all other URLs.
  ///
  /// If the path ends in a slash or in `%2F`, libcurl lists a directory, and Haul would save the list as a file. URLs with
  /// `;type=` (RFC 1738 §3.2.2) are refused because libcurl may then change the line endings of the file.
  package var noFile: TransferError? {
    guard isFile else { return nil }
    let why: String? =
      if path.isEmpty || path == "/" {
        "the URL has a host but no file"
      } else if path.hasSuffix("/") || path.lowercased().hasSuffix("%2f") {
        "the URL ends in '/', so it names a directory and not a file"
      } else if path.lowercased().contains(";type=") {
        "the URL contains ';type=', which is not supported: remove it"
      } else if query != nil {
        "the URL contains '?': write a '?' in the file name as %3F"
      } else {
        nil
      }
    return why.map { TransferError(.blockedURL, $0, host: hostKey) }
  }
}
