import HaulTransfer
import Testing

struct AddressPolicyTests {
  @Test(arguments: [
    // Unspecified, loopback, private, shared, link-local with cloud metadata.
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1", "100.64.0.1", "100.127.255.255", "169.254.169.254",
    // Protocol assignments, documentation, benchmarking, 6to4 relay, multicast, reserved, broadcast.
    "192.0.0.1", "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.255",
    "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    // The same in IPv6.
    "::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fdff::1", "ff02::1", "100::1",
    "2001:db8::1", "3fff::1", "2001::1", "2001:10::1", "5f00::1", "4000::1",
    // Standing for an IPv4 address: mapped, compatible, translated, NAT64, 6to4.
    "::ffff:127.0.0.1", "::ffff:10.1.1.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
    "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1",
    "2002:7f00:1::", "2002:a00:1::1",
  ])
  func `what is not public is refused`(_ text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(!AddressPolicy.publicOnly.allows(address))
  }

  @Test(arguments: [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.1.1.1",
    "128.0.0.1", "169.253.1.1", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.1.1",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
    "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
  ])
  func `what is public is allowed`(_ text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(AddressPolicy.publicOnly.allows(address))
  }

  @Test(arguments: [
    (["127.0.0.0/8"], "127.9.9.9", true), (["127.0.0.0/8"], "10.0.0.1", false),
    (["127.0.0.1"], "127.0.0.1", true), (["127.0.0.1"], "127.0.0.2", false),
    (["10.0.0.0/9"], "10.127.0.1", true), (["10.0.0.0/9"], "10.128.0.1", false),
    (["10.0.0.0/8"], "::ffff:10.0.0.1", true), (["10.0.0.0/8"], "64:ff9b::10.0.0.1", true),
    (["::1/128"], "::1", true), (["::1/128"], "127.0.0.1", false), (["fd00::/8"], "fd12::1", true),
    (["::/0"], "fe80::1", true), (["0.0.0.0/0"], "10.0.0.1", true), ([], "8.8.8.8", true),
    (["10.0.0.0/8", "192.168.1.0/24"], "192.168.1.77", true),
  ])
  func `allowed blocks are added`(_ blocks: [String], _ text: String, _ expected: Bool) throws {
    let policy = AddressPolicy(allowing: try blocks.map { try #require(CIDR($0)) })
    let address = try #require(IPAddress(text))
    #expect(policy.allows(address) == expected)
  }

  @Test(arguments: [
    "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0/8",
    "::1/129", "localhost", "0x7f.1", "010.0.0.1", "10.0.0.0/8 ", "[::1]", "fe80::1%eth0",
  ])
  func `what is no block is refused`(_ text: String) {
    #expect(CIDR(text) == nil)
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.0.0.0/8"), ("127.0.0.1", "127.0.0.1/32"), ("::1", "::1/128"),
    ("2001:0DB8::0:1/64", "2001:db8::1/64"),
  ])
  func `a block is written in the usual way`(_ text: String, _ expected: String) {
    #expect(CIDR(text)?.description == expected)
  }
}
