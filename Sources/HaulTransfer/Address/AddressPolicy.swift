/// Decides which addresses Haul may connect to.
///
/// The policy checks the address of the socket, not the host name, so a DNS answer cannot bypass the policy. The policy allows
/// an address if an allowed block contains it. The policy refuses every other address that is not global unicast according to
/// IANA's special-purpose registries (RFC 6890). The refused addresses are loopback, link-local (including the metadata
/// services of clouds), private, shared, documentation, benchmarking, multicast and reserved addresses. If an IPv6 address
/// contains an IPv4 address, the policy checks the IPv4 address.
public struct AddressPolicy: Sendable, Hashable {
  /// A policy that allows only public addresses.
  public static let publicOnly = AddressPolicy(allowing: [])

  /// A policy that allows every address.
  public static let unrestricted = AddressPolicy(
    allowing: ["0.0.0.0/0", "::/0"].compactMap(CIDR.init))

  /// The address blocks that are allowed in addition to the public addresses.
  public let allowed: [CIDR]

  /// Creates a policy that allows public addresses and the address blocks in `allowed`.
  public init(allowing allowed: [CIDR]) {
    self.allowed = allowed
  }

  /// Returns whether a connection to `address` may be opened.
  public func allows(_ address: IPAddress) -> Bool {
    let inner = address.inner
    if allowed.contains(where: { $0.contains(address) || (inner.map($0.contains) ?? false) }) {
      return true
    }
    // `::1` and `::` look like IPv4-compatible addresses. Their inner addresses are in 0.0.0.0/8 and refused.
    let judged = inner ?? address
    if judged.bytes.count == 16 && !Self.globalUnicast.contains(where: { $0.contains(judged) }) {
      return false
    }
    return !Self.special.contains { $0.contains(judged) }
  }

  /// The part of IPv6 that IANA assigns (RFC 4291 §2.4).
  private static let globalUnicast = ["2000::/3"].compactMap(CIDR.init)

  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "2001::/23", "2001:db8::/32", "3fff::/20",
  ].compactMap(CIDR.init)
}
