/// Which addresses may be connected to.
///
/// Judged by the address of the socket, not by the name, so that DNS cannot lead elsewhere. What is
/// refused unless allowed by name: everything that is not global unicast by IANA's special-purpose registries
/// (RFC 6890) - loopback, link-local with cloud metadata, private, shared, documentation,
/// benchmarking, multicast, reserved. IPv6 addresses that stand for an IPv4 address are judged by it.
public struct AddressPolicy: Sendable, Hashable {
  /// Only public addresses.
  public static let publicOnly = AddressPolicy(allowing: [])

  /// Any address at all.
  public static let unrestricted = AddressPolicy(
    allowing: ["0.0.0.0/0", "::/0"].compactMap(CIDR.init))

  /// Blocks allowed besides the public addresses.
  public let allowed: [CIDR]

  /// Public addresses and these blocks.
  public init(allowing allowed: [CIDR]) {
    self.allowed = allowed
  }

  /// Whether a connection to `address` may be opened.
  public func allows(_ address: IPAddress) -> Bool {
    let inner = address.inner
    if allowed.contains(where: { $0.contains(address) || (inner.map($0.contains) ?? false) }) {
      return true
    }
    // Loopback and unspecified look like compatible addresses; their inner ones are refused as 0.0.0.0/8.
    let judged = inner ?? address
    if judged.bytes.count == 16 && !Self.globalUnicast.contains(where: { $0.contains(judged) }) {
      return false
    }
    return !Self.special.contains { $0.contains(judged) }
  }

  /// The part of IPv6 that IANA gives out (RFC 4291 §2.4).
  private static let globalUnicast = ["2000::/3"].compactMap(CIDR.init)

  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "2001::/23", "2001:db8::/32", "3fff::/20",
  ].compactMap(CIDR.init)
}
