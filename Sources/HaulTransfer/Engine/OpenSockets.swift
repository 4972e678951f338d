internal import Glibc

/// The engine's sockets; the key is the local port. The engine checks a connection here before it reuses the connection.
///
/// A server that sends more than it announced leaves bytes in the connection. libcurl 7.88 considers such a connection alive,
/// and the next response would begin with these bytes (RFC 9112 §6.3: the client must close such a connection). Used on the
/// engine thread only.
final class OpenSockets {
  /// A descriptor may be closed and its number reused at any time, so each one is checked before use.
  private var descriptors: [UInt16: Int32] = [:]

  /// Checks the connection that is about to be used. `opened` are the sockets made for this exchange. If the connection has one
  /// of these sockets, this function remembers the socket. Any other connection was used before. If it holds bytes that no
  /// request asked for, this function shuts it down.
  ///
  /// After the shutdown, libcurl fails to send, sees that no response has come yet, and reconnects.
  func inspect(opened: [Int32], localPort: UInt16, remotePort: UInt16) {
    if let socket = opened.last(where: { ports(of: $0) == (localPort, remotePort) }) {
      descriptors[localPort] = socket
      return
    }
    guard let socket = descriptors[localPort], ports(of: socket) == (localPort, remotePort) else {
      return
    }
    var byte: UInt8 = 0
    guard unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 else { return }
    shutdown(socket, Int32(SHUT_RDWR))
  }

  /// Returns the local and remote port, each 0 if `socket` is not a connected socket.
  private func ports(of socket: Int32) -> (local: UInt16, remote: UInt16) {
    // Family and port lie at the same offsets in sockaddr_in, so sockaddr_in6 also serves for IPv4.
    var (local, remote) = (sockaddr_in6(), sockaddr_in6())
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    _ = unsafe withUnsafeMutableBytes(of: &local) { raw in
      unsafe getsockname(socket, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    _ = unsafe withUnsafeMutableBytes(of: &remote) { raw in
      unsafe getpeername(socket, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    return (UInt16(bigEndian: local.sin6_port), UInt16(bigEndian: remote.sin6_port))
  }
}
