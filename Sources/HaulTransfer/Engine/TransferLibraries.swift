import HaulCLibcrypto
import HaulCLibcurl

/// The C libraries that transfers run on, with what they were built with.
package struct TransferLibraries: Sendable, Equatable {
  /// `7.88.1`.
  package var curl: String
  /// libcurl's TLS library, `OpenSSL/3.0.22`; nil where it has none and https fails.
  package var tls: String?
  /// `1.52.0`; nil where libcurl speaks no HTTP/2.
  package var nghttp2: String?
  /// `1.2.13`; nil where libcurl has none.
  package var zlib: String?
  /// The libcrypto of digests, `3.0.22`.
  package var openSSL: String

  /// The libraries that this program runs with (libcurl: curl_version_info; OpenSSL: OpenSSL_version).
  package static var linked: TransferLibraries {
    let curl = unsafe haul_version_info().pointee
    return TransferLibraries(
      curl: unsafe text(curl.version) ?? "unknown", tls: unsafe text(curl.ssl_version),
      nghttp2: unsafe text(curl.nghttp2_version), zlib: unsafe text(curl.libz_version),
      openSSL: unsafe text(OpenSSL_version(OPENSSL_VERSION_STRING)) ?? "unknown")
  }

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
    unsafe pointer.map { unsafe String(cString: $0) }
  }

  /// `libcurl 7.88.1 (OpenSSL/3.0.22, nghttp2/1.52.0, zlib/1.2.13)`.
  package var curlText: String {
    let parts = [tls, nghttp2.map { "nghttp2/\($0)" }, zlib.map { "zlib/\($0)" }]
    return "libcurl \(curl) (\(parts.compactMap { $0 }.joined(separator: ", ")))"
  }
}
