import Glibc

/// A listening socket. The owner of the descriptor closes it.
struct ListenSocket {
  let descriptor: Int32
  /// The address with the actual port.
  let address: ListenAddress

  init(_ wanted: ListenAddress) throws(ListenError) {
    let type =
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    descriptor = socket(wanted.isIPv6 ? AF_INET6 : AF_INET, type, 0)
    guard descriptor >= 0 else { throw .refused(wanted, errno: errno) }
    // Allows listening on a port again while its last connections are still timing out.
    var yes: Int32 = 1
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    let socket = descriptor
    let isBound = unsafe wanted.withSocketAddress { unsafe bind(socket, $0, $1) } == 0
    guard isBound, listen(descriptor, 64) == 0 else {
      let number = errno
      close(descriptor)
      throw number == EADDRINUSE ? .inUse(wanted) : .refused(wanted, errno: number)
    }
    var address = wanted
    address.port = Self.port(of: descriptor)
    self.address = address
  }

  /// Returns the actual port of a socket, or 0 if the kernel does not report it.
  private static func port(of descriptor: Int32) -> UInt16 {
    var storage = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let status = unsafe withUnsafeMutablePointer(to: &storage) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &length)
      }
    }
    // The port is at the same offset in both address families.
    return status == 0 ? UInt16(bigEndian: storage.sin6_port) : 0
  }
}
