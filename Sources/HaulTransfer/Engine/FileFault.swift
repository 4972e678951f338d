internal import HaulCLibcurl

extension EasyHandle {
  /// The known facts about the file being sent (libcurl: CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, CURLINFO_FILETIME_T).
  var fileFacts: FileRequest.Facts {
    func number(_ info: CURLINFO) -> Int64? {
      var value: curl_off_t = -1
      guard unsafe haul_easy_get_offset(raw, info, &value) == CURLE_OK, value >= 0 else {
        return nil
      }
      return Int64(value)
    }
    return FileRequest.Facts(
      length: number(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T), modified: number(CURLINFO_FILETIME_T))
  }

  /// The code of the FTP server's last reply (RFC 959 §4.2); 0 for SFTP.
  var reply: Int {
    var code = 0
    _ = unsafe haul_easy_get_long(raw, CURLINFO_RESPONSE_CODE, &code)
    return code
  }
}

extension CurlEnd {
  /// How the server refused to send any byte of the file; nil if libcurl's result does not show a refusal.
  var refusal: FileRequest.Refusal? {
    switch code {
    case CURLE_BAD_DOWNLOAD_RESUME: .beyondEnd
    case CURLE_FTP_COULDNT_USE_REST: .noRanges
    default: nil
    }
  }

  /// Returns the failure of an FTP or SFTP exchange; nil if libcurl's result has no special meaning for these protocols.
  /// `machine` is spelled as in ``WebURL/hostKey``, and `reply` is as in `EasyHandle.reply`.
  func fileFault(
    _ request: ExchangeRequest, of machine: String?, _ reply: Int, _ progress: Progress
  ) -> (errorClass: TransferError.Class, message: String, remedy: TransferError.Remedy?)? {
    // The server is too busy, at login or later.
    if reply == 421 { return (.rateLimited, "the server is busy (421)", nil) }
    let isSFTP = request.url.lowercased().hasPrefix("sftp:")
    switch code {
    case CURLE_LOGIN_DENIED:
      return request.login == nil
        ? (
          .noCredential,
          "the server needs a user and a password, but the download has no login",
          machine.map { .login(machine: $0) }
        )
        : (.credential, "the server refused the login", nil)
    case CURLE_REMOTE_FILE_NOT_FOUND, CURLE_REMOTE_ACCESS_DENIED, CURLE_FTP_COULDNT_RETR_FILE:
      // A transient negative reply (RFC 959 §4.2.1), or a reply with which the server first agreed to send.
      if (100..<500).contains(reply) {
        return (.interrupted, "the server did not send the file (reply \(reply))", nil)
      }
      return (
        .noFile,
        code == CURLE_REMOTE_ACCESS_DENIED
          ? "the server denies access to the file or its directory"
          : "the server does not have this file, or refuses to send it", nil
      )
    case CURLE_PEER_FAILED_VERIFICATION where isSFTP:
      return (
        .tls, "the known hosts file has no key for this server, or a different key",
        .knownHost
      )
    case CURLE_SSH where progress == .connecting:
      return (.tls, "the SSH handshake failed: \(sentence)", nil)
    // libcurl reports the same error for a broken connection and for a directory, which sshd opens but cannot read.
    case CURLE_SSH where isSFTP:
      return (.interrupted, "the connection broke, or the URL names a directory", nil)
    case CURLE_USE_SSL_FAILED:
      return (.tls, "the server does not support TLS, and passwords are sent only over TLS", nil)
    default: return nil
    }
  }
}
