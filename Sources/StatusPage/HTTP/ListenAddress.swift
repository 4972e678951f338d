import Glibc

/// An address on which a server listens: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`.
package struct ListenAddress: Sendable, Hashable {
  /// The numeric IP address. IPv6 addresses are without brackets.
  package let address: String
  /// The port number. 0 means any free port.
  package var port: UInt16
  let isIPv6: Bool

  /// Parses an address; nil if `text` is not an address. The only accepted name is `localhost`.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"),
      let port = UInt16(text[text.index(after: colon)...]),
      text[text.index(after: colon)...].allSatisfy(\.isNumber)
    else { return nil }
    var host = String(text[..<colon])
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = String(host.dropFirst().dropLast()) }
    if host == "localhost" { host = "127.0.0.1" }
    guard Self.isNumeric(host, isBracketed ? AF_INET6 : AF_INET) else { return nil }
    (address, self.port, isIPv6) = (host, port, isBracketed)
  }

  /// Whether only this machine can reach the address (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3).
  package var isLoopback: Bool {
    isIPv6 ? bytes == [UInt8](repeating: 0, count: 15) + [1] : bytes.first == 127
  }

  private var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
    _ = unsafe bytes.withUnsafeMutableBytes {
      unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, address, $0.baseAddress)
    }
    return bytes
  }

  private static func isNumeric(_ host: String, _ family: Int32) -> Bool {
    var bytes = in6_addr()
    return unsafe inet_pton(family, host, &bytes) == 1
  }

  /// Calls `body` with the address as a `sockaddr`.
  func withSocketAddress<Result>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var storage = sockaddr_storage()
    let length: Int
    if isIPv6 {
      length = MemoryLayout<sockaddr_in6>.size
      unsafe withUnsafeMutableBytes(of: &storage) { raw in
        let pointer = unsafe raw.assumingMemoryBound(to: sockaddr_in6.self)
        unsafe pointer[0].sin6_family = sa_family_t(AF_INET6)
        unsafe pointer[0].sin6_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &pointer[0].sin6_addr) {
          unsafe $0.copyBytes(from: bytes)
        }
      }
    } else {
      length = MemoryLayout<sockaddr_in>.size
      unsafe withUnsafeMutableBytes(of: &storage) { raw in
        let pointer = unsafe raw.assumingMemoryBound(to: sockaddr_in.self)
        unsafe pointer[0].sin_family = sa_family_t(AF_INET)
        unsafe pointer[0].sin_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &pointer[0].sin_addr) { unsafe $0.copyBytes(from: bytes) }
      }
    }
    return unsafe withUnsafePointer(to: &storage) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(length))
      }
    }
  }
}

extension ListenAddress: CustomStringConvertible {
  package var description: String { isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)" }
}
