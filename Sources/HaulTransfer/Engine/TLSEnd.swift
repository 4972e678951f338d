internal import HaulCLibcrypto
internal import HaulCLibcurl
internal import Synchronization

/// Watches whether the peer of a TLS connection announces the end of the connection (close_notify, RFC 8446 §6.1).
///
/// A body without length is complete only after close_notify (RFC 9112 §9.8); otherwise an attacker on the network could cut
/// it. libcurl 7.88 with OpenSSL 3 does not distinguish a connection that was cut from one that was closed, and frees the
/// session before it reports the end. Haul therefore asks OpenSSL to report the alert when it arrives.
final class TLSEnd {
  /// Whether the peer of each watched session has sent close_notify. The key is the session's address. OpenSSL gives its
  /// callback no context, so there is one table per process.
  private static let said = Mutex<[UInt: Bool]>([:])
  private let session: UInt

  /// Starts to watch the connection of the exchange; nil if it is not a TLS connection.
  init?(of easy: EasyHandle) {
    guard let session = unsafe easy.tlsSession else { return nil }
    self.session = UInt(bitPattern: session)
    Self.said.withLock { $0[self.session] = false }
  }

  deinit {
    _ = Self.said.withLock { $0.removeValue(forKey: session) }
  }

  /// Whether the peer has sent close_notify.
  var isSaid: Bool { Self.said.withLock { $0[session] == true } }

  /// The callback of SSL_CTX_set_info_callback(3). For an alert, the lower byte of `value` is the description, and the byte
  /// above is the level.
  fileprivate static let note: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = {
    session, event, value in
    guard event == SSL_CB_READ | SSL_CB_ALERT, value & 0xff == SSL3_AD_CLOSE_NOTIFY else { return }
    let session = UInt(bitPattern: session)
    said.withLock { if $0[session] != nil { $0[session] = true } }
  }
}

/// CURLOPT_SSL_CTX_FUNCTION: sets the callback before each handshake.
let beforeHandshake:
  @convention(c) (
    UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
  ) -> CURLcode = { _, context, _ in
    unsafe SSL_CTX_set_info_callback(OpaquePointer(context), TLSEnd.note)
    return CURLE_OK
  }

extension EasyHandle {
  /// The `SSL` of the connection in use, or nil if there is none. Valid only while the exchange runs (libcurl:
  /// CURLINFO_TLS_SSL_PTR).
  fileprivate var tlsSession: UnsafeMutableRawPointer? {
    var found: UnsafeMutableRawPointer?
    guard unsafe haul_easy_get_pointer(raw, CURLINFO_TLS_SSL_PTR, &found) == CURLE_OK,
      let info = unsafe found?.assumingMemoryBound(to: curl_tlssessioninfo.self).pointee,
      unsafe info.backend == CURLSSLBACKEND_OPENSSL
    else { return nil }
    return unsafe info.internals
  }
}
