import HaulCLibcrypto
import HaulCLibcurl

/// The versions of the C libraries that transfers use.
package struct TransferLibraries: Sendable, Equatable {
  /// The version of libcurl, such as `7.88.1`.
  package var curl: String
  /// libcurl's TLS library, such as `OpenSSL/3.0.22`. If this value is nil, libcurl has no TLS library, and https fails.
  package var tls: String?
  /// The version of nghttp2, such as `1.52.0`; nil if libcurl does not support HTTP/2.
  package var nghttp2: String?
  /// The version of zlib, such as `1.2.13`; nil if libcurl does not support zlib.
  package var zlib: String?
  /// The version of the libcrypto that computes digests, such as `3.0.22`.
  package var openSSL: String

  /// The libraries that this program runs with (curl_version_info, OpenSSL_version).
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

  /// The versions of libcurl and its libraries, such as `libcurl 7.88.1 (OpenSSL/3.0.22, nghttp2/1.52.0, zlib/1.2.13)`.
  package var curlText: String {
    let parts = [tls, nghttp2.map { "nghttp2/\($0)" }, zlib.map { "zlib/\($0)" }]
    return "libcurl \(curl) (\(parts.compactMap { $0 }.joined(separator: ", ")))"
  }
}
