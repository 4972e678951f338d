internal import HaulCLibcrypto
internal import HaulCLibcurl
internal import Synchronization

/// Whether the peer of a TLS connection says that it ends it (close_notify, RFC 8446 §6.1).
///
/// A body without length is complete only then (RFC 9112 §9.8), and else anybody on the way could end it where he likes. libcurl
/// 7.88 with OpenSSL 3 takes a connection that was cut for one that was closed, and has freed the session when it tells of
/// the end: so OpenSSL is asked to tell of the alert when it comes.
final class TLSEnd {
  /// Watched sessions by address, and whether their peers have sent it. OpenSSL gives its callback
  /// no context, so that there is one for the process.
  private static let said = Mutex<[UInt: Bool]>([:])
  private let session: UInt

  /// The end of the connection that the exchange runs over, from now on; nil where that is not TLS.
  init?(of easy: EasyHandle) {
    guard let session = unsafe easy.tlsSession else { return nil }
    self.session = UInt(bitPattern: session)
    Self.said.withLock { $0[self.session] = false }
  }

  deinit {
    _ = Self.said.withLock { $0.removeValue(forKey: session) }
  }

  /// Whether it was said.
  var isSaid: Bool { Self.said.withLock { $0[session] == true } }

  /// SSL_CTX_set_info_callback(3): the value of an alert is its level and, in the lower byte, what it says.
  fileprivate static let note: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = {
    session, event, value in
    guard event == SSL_CB_READ | SSL_CB_ALERT, value & 0xff == SSL3_AD_CLOSE_NOTIFY else { return }
    let session = UInt(bitPattern: session)
    said.withLock { if $0[session] != nil { $0[session] = true } }
  }
}

/// CURLOPT_SSL_CTX_FUNCTION: before each handshake.
let beforeHandshake:
  @convention(c) (
    UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
  ) -> CURLcode = { _, context, _ in
    unsafe SSL_CTX_set_info_callback(OpaquePointer(context), TLSEnd.note)
    return CURLE_OK
  }

extension EasyHandle {
  /// The `SSL` of the connection in use; nil where there is none. Only while the exchange runs
  /// (libcurl: CURLINFO_TLS_SSL_PTR).
  fileprivate var tlsSession: UnsafeMutableRawPointer? {
    var found: UnsafeMutableRawPointer?
    guard unsafe haul_easy_get_pointer(raw, CURLINFO_TLS_SSL_PTR, &found) == CURLE_OK,
      let info = unsafe found?.assumingMemoryBound(to: curl_tlssessioninfo.self).pointee,
      unsafe info.backend == CURLSSLBACKEND_OPENSSL
    else { return nil }
    return unsafe info.internals
  }
}
