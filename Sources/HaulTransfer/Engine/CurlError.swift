internal import HaulCLibcurl

/// The result that libcurl reports for an exchange.
struct CurlEnd {
  /// How far the exchange got.
  enum Progress {
    case resolving
    /// libcurl tried at least one address, and may have been in the TLS handshake.
    case connecting
    /// libcurl sent the request, or may have sent it.
    case connected
  }

  let code: CURLcode
  /// The error message of libcurl. It names the host, never the whole URL.
  let sentence: String

  init(_ code: CURLcode, detail: String) {
    self.code = code
    sentence = detail.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : detail
  }

  /// Returns the message to show to users. For TLS failures, it contains the words of libcurl's TLS library.
  func message(_ errorClass: TransferError.Class) -> String {
    if code == CURLE_OUT_OF_MEMORY, errorClass == .protocol {
      return "the response has a header that is too long"
    }
    if code == CURLE_BAD_FUNCTION_ARGUMENT, errorClass == .protocol {
      return "the first header of the response begins with a space or tab"
    }
    guard errorClass == .tls else { return sentence }
    let why = sentence.split(separator: " ").joined(separator: " ")
    guard code == CURLE_PEER_FAILED_VERIFICATION else {
      return "the TLS handshake failed (Haul needs TLS 1.2 or newer): \(why)"
    }
    let known = ["SSL certificate problem: ", "SSL: "].first { why.hasPrefix($0) } ?? ""
    return "cannot verify the server's certificate: \(why.dropFirst(known.count))"
  }

  var isOK: Bool { code == CURLE_OK }

  /// Whether libcurl could not read a Content-Length.
  var refusesLength: Bool {
    code == CURLE_WEIRD_SERVER_REPLY && sentence.hasPrefix("Invalid Content-Length")
  }

  var isTimeout: Bool { code == CURLE_OPERATION_TIMEDOUT }

  /// Returns the error class of an exchange that failed before a response head arrived.
  func errorClass(_ progress: Progress) -> TransferError.Class {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      return .dns
    case CURLE_COULDNT_CONNECT:
      return .connect
    case CURLE_OPERATION_TIMEDOUT:
      return progress == .resolving ? .dns : progress == .connecting ? .connect : .timeout
    // A problem with the client's own certificate.
    case CURLE_SSL_CERTPROBLEM: return .credential
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return .tls
    case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED:
      return .blockedURL
    case CURLE_UNSUPPORTED_PROTOCOL:
      // libcurl reports this for a scheme that is not allowed, or for an answer that is not HTTP/1 or HTTP/2.
      return progress == .connected ? .protocol : .blockedURL
    case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_OK:
      return .protocol
    // libcurl reports this for a head whose first field starts with a blank.
    case CURLE_BAD_FUNCTION_ARGUMENT where progress == .connected: return .protocol
    case CURLE_OUT_OF_MEMORY where progress == .connected:
      // libcurl reports this for a header line of more than 100 KiB (`CURL_MAX_HTTP_HEADER`).
      return .protocol
    default:
      // The connection broke: reset, closed without an answer, HTTP/2 errors.
      return .interrupted
    }
  }
}
