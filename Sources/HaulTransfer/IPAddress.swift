internal import Glibc

/// An IPv4 or IPv6 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// The 4 or 16 bytes of the address, most significant byte first.
  public let bytes: [UInt8]

  /// Creates an address from 4 or 16 bytes; nil for any other number of bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Reads an address such as `192.0.2.1` or `2001:db8::1`, as inet_pton(3) does; nil for any other text.
  public init?(_ text: String) {
    let isIPv6 = text.utf8.contains(UInt8(ascii: ":"))
    var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
    let result = unsafe bytes.withUnsafeMutableBytes { raw in
      unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, raw.baseAddress)
    }
    guard result == 1 else { return nil }
    self.bytes = bytes
  }

  /// Reads the address from a `sockaddr` of `length` bytes; nil if its family is not IPv4 or IPv6.
  init?(socketAddress: UnsafeRawPointer, length: Int) {
    guard length >= MemoryLayout<sockaddr>.size else { return nil }
    // On Linux, every sockaddr begins with its family.
    switch Int32(unsafe socketAddress.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET:
      guard length >= MemoryLayout<sockaddr_in>.size else { return nil }
      let address = unsafe socketAddress.loadUnaligned(as: sockaddr_in.self).sin_addr
      bytes = unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
    case AF_INET6:
      guard length >= MemoryLayout<sockaddr_in6>.size else { return nil }
      let address = unsafe socketAddress.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      bytes = unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
    default:
      return nil
    }
  }

  /// The IPv4 address that an IPv6 address contains; nil if it contains none. Known forms: mapped and compatible (RFC 4291
  /// §2.5.5), NAT64 (RFC 6052 §2.1), 6to4 (RFC 3056 §2).
  var inner: IPAddress? {
    guard bytes.count == 16 else { return nil }
    let zeros = bytes.prefix { $0 == 0 }.count
    let isMapped = zeros == 10 && bytes[10] == 0xff && bytes[11] == 0xff
    let isNAT64 = bytes.starts(with: [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0])
    if zeros >= 12 || isMapped || isNAT64 { return IPAddress(bytes: Array(bytes[12...])) }
    if bytes.starts(with: [0x20, 0x02]) { return IPAddress(bytes: Array(bytes[2..<6])) }
    return nil
  }

  /// The address in its usual short spelling, as inet_ntop(3) writes it.
  public var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let family = bytes.count == 4 ? AF_INET : AF_INET6
    _ = unsafe bytes.withUnsafeBytes { raw in
      unsafe inet_ntop(family, raw.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN))
    }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// A block of addresses: `10.0.0.0/8`, `::1/128`, or a single address.
public struct CIDR: Sendable, Hashable, CustomStringConvertible {
  /// The address as written. Bits after the prefix are ignored.
  public let address: IPAddress
  /// The number of leading bits that all addresses in the block share.
  public let prefix: Int

  /// Reads a block such as `10.0.0.0/8`, `fd00::/8` or `127.0.0.1`; nil for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let address = IPAddress(String(parts[0])) else { return nil }
    let all = address.bytes.count * 8
    self.address = address
    guard parts.count == 2 else {
      prefix = all
      return
    }
    guard parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let prefix = Int(parts[1]),
      prefix <= all
    else { return nil }
    self.prefix = prefix
  }

  /// Creates a block that holds one address.
  init(_ address: IPAddress) {
    self.address = address
    prefix = address.bytes.count * 8
  }

  /// Returns whether the block contains `other`; false if the address families differ.
  public func contains(_ other: IPAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    let whole = prefix / 8
    guard address.bytes[..<whole] == other.bytes[..<whole] else { return false }
    let rest = prefix % 8
    return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0
  }

  /// The block in CIDR notation, such as `10.0.0.0/8`.
  public var description: String { "\(address)/\(prefix)" }
}
