internal import Glibc
internal import HaulCLibcurl

// The callbacks of libcurl, which always calls them on the engine thread. Except in closeSocket, the first or last argument is
// the running exchange. The engine keeps the exchange alive while the multi handle contains its handle.

/// CURLOPT_HEADERFUNCTION: receives one whole header line. Any return value other than the line's length ends the exchange.
let receiveHeader:
  @convention(c) (
    UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?
  ) -> Int = { bytes, size, count, context in
    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe exchange(context).receiveHeader(line) ? size * count : 0
  }

/// CURLOPT_WRITEFUNCTION: receives at most 16 KiB (`CURL_MAX_WRITE_SIZE`) of the body.
let receiveBody:
  @convention(c) (
    UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?
  ) -> Int = { bytes, size, count, context in
    let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    switch unsafe exchange(context).receiveBody(piece) {
    case .taken: return size * count
    // libcurl keeps the piece and passes it again after curl_easy_pause.
    case .pause: return Int(CURL_WRITEFUNC_PAUSE)
    // Any return value other than the piece's length ends the exchange; a piece is never empty.
    case .end: return 0
    }
  }

/// CURLOPT_OPENSOCKETFUNCTION: checks every address against the address policy, after DNS and before connecting.
let openSocket:
  @convention(c) (
    UnsafeMutableRawPointer?, curlsocktype, UnsafeMutablePointer<curl_sockaddr>?
  ) -> curl_socket_t = { context, _, target in
    guard let target = unsafe target else { return CURL_SOCKET_BAD }
    let name = unsafe withUnsafePointer(to: &target.pointee.addr) { unsafe UnsafeRawPointer($0) }
    let address = unsafe IPAddress(
      socketAddress: name, length: Int(target.pointee.addrlen))
    guard unsafe exchange(context).mayConnect(to: address) else { return CURL_SOCKET_BAD }
    let descriptor = unsafe socket(
      target.pointee.family, target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
      target.pointee.protocol)
    guard descriptor >= 0 else {
      unsafe exchange(context).gotNoSocket(errno)
      return CURL_SOCKET_BAD
    }
    unsafe exchange(context).opened(descriptor)
    return descriptor
  }

/// CURLOPT_CLOSESOCKETFUNCTION: closes a connection's socket. The first argument is the engine's watchdog, because the
/// connection's exchange may be over.
let closeSocket: @convention(c) (UnsafeMutableRawPointer?, curl_socket_t) -> Int32 = {
  context, descriptor in
  guard let context = unsafe context else {
    preconditionFailure("the curl handle has no watchdog")
  }
  unsafe Unmanaged<EngineWatchdog>.fromOpaque(context).takeUnretainedValue().close(descriptor)
  return 0
}

/// CURLOPT_PREREQFUNCTION: checks a connection before the request goes out. Another exchange with a wider policy may have
/// opened the connection.
let beforeRequest:
  @convention(c) (
    UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?, Int32,
    Int32
  ) -> Int32 = { context, remote, _, remotePort, localPort in
    guard let remote = unsafe remote else { return CURL_PREREQFUNC_ABORT }
    let text = unsafe String(cString: remote)
    let mayGo = unsafe exchange(context).maySend(
      to: text, remotePort: UInt16(truncatingIfNeeded: remotePort),
      localPort: UInt16(truncatingIfNeeded: localPort))
    return mayGo ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  }

private func exchange(_ context: UnsafeMutableRawPointer?) -> RunningExchange {
  guard let context = unsafe context else {
    preconditionFailure("the curl handle has no exchange")
  }
  return unsafe Unmanaged<RunningExchange>.fromOpaque(context).takeUnretainedValue()
}
