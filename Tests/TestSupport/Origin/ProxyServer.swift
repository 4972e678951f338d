import Foundation
import Glibc

/// A proxy inside the test process, on 127.0.0.1: HTTP with CONNECT (RFC 9110 §9.3.6), or SOCKS 5 (RFC 1928). Every name leads to
/// 127.0.0.1.
package final class ProxyServer: Sendable {
  package enum Kind: Sendable {
    case http
    case socks
  }

  /// What was asked of it.
  package struct Ask: Sendable, Equatable {
    /// `GET http://…`, `CONNECT host:port`, `SOCKS host:port`.
    package var target: String
    /// What the client says to it and not to the host: of HTTP the value of Proxy-Authorization, of SOCKS `user:password`.
    package var password: String?
    /// The head of a request to an HTTP proxy.
    package var head: String
  }

  /// 0 of one at a path.
  package let port: UInt16
  package let asked = Watched<[Ask]>([])
  private let listener: Int32

  /// - Parameters:
  ///   - path: of a socket of the Unix domain, instead of an address.
  ///   - password: `user:password` that it wants to hear.
  ///   - refusal: the status, or the reply of SOCKS, with which it refuses every host.
  package init(
    _ kind: Kind, at path: String? = nil, password: String? = nil, refusal: Int? = nil
  ) throws {
    listener = try path.map(Self.unixSocket) ?? loopbackSocket(address: "127.0.0.1")
    guard listen(listener, 64) == 0 else { throw POSIXError.last }
    port = path == nil ? try boundPort(of: listener) : 0
    let (listener, asked) = (listener, asked)
    Thread.detachNewThread {
      while let client = accepted(from: listener) {
        Thread.detachNewThread {
          let session = ProxySession(
            client: client, asked: asked, password: password, refusal: refusal)
          switch kind {
          case .http: session.serveHTTP()
          case .socks: session.serveSOCKS()
          }
          close(client)
        }
      }
      close(listener)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private static func unixSocket(_ path: String) throws -> Int32 {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0 else { throw POSIXError.last }
    return socket
  }
}

/// One connection of a client.
private struct ProxySession {
  let client: Int32
  let asked: Watched<[ProxyServer.Ask]>
  let password: String?
  let refusal: Int?

  func serveHTTP() {
    var bytes: [UInt8] = []
    let end: [UInt8] = [13, 10, 13, 10]
    while bytes.firstRange(of: end) == nil {
      guard let piece = received(from: client) else { return }
      bytes += piece
    }
    let head = String(decoding: bytes, as: UTF8.self)
    let words = head.prefix { $0 != "\r\n" }.split(separator: " ").map(String.init)
    let said = head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }
      .map { String($0.dropFirst("Proxy-Authorization: ".count)) }
    asked.update { $0.append(.init(target: "\(words[0]) \(words[1])", password: said, head: head)) }
    let wanted = password.map { "Basic " + Data($0.utf8).base64EncodedString() }
    if let wanted, said != wanted { return answer(407) }
    if let refusal { return answer(refusal) }
    let isTunnel = words[0] == "CONNECT"
    let place =
      isTunnel
      ? words[1] : String(words[1].dropFirst("http://".count).prefix { $0 != "/" })
    guard let server = connected(toPort: Self.port(place)) else { return answer(502) }
    if isTunnel {
      _ = sendAll(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8), to: client)
    } else {
      // One request a connection, as the origin would see it from a client of its own.
      let path = words[1].dropFirst("http://".count).drop { $0 != "/" }
      let lines = head.components(separatedBy: "\r\n").dropFirst()
        .filter { !$0.hasPrefix("Proxy-") }
      let request =
        "GET \(path) HTTP/1.1\r\nConnection: close\r\n" + lines.joined(separator: "\r\n")
      _ = sendAll(Array(request.utf8), to: server)
    }
    relay(server)
  }

  func serveSOCKS() {
    guard let greeting = read(2), let methods = read(Int(greeting[1])) else { return }
    var said: String?
    if password != nil {
      guard methods.contains(2) else {
        asked.update { $0.append(.init(target: "SOCKS", password: nil, head: "")) }
        return send([5, 0xff])
      }
      // RFC 1929.
      send([5, 2])
      guard let user = read(2).flatMap({ read(Int($0[1])) }),
        let word = read(1).flatMap({ read(Int($0[0])) })
      else { return }
      said = String(decoding: user, as: UTF8.self) + ":" + String(decoding: word, as: UTF8.self)
      send([1, said == password ? 0 : 1])
      if said != password { return }
    } else {
      send([5, 0])
    }
    guard let request = read(4) else { return }
    var host: String
    switch request[3] {
    case 1: host = (read(4) ?? []).map(String.init).joined(separator: ".")
    case 3: host = String(decoding: read(1).flatMap { read(Int($0[0])) } ?? [], as: UTF8.self)
    default: return
    }
    guard let port = read(2).map({ Int($0[0]) << 8 | Int($0[1]) }) else { return }
    host += ":\(port)"
    asked.update { [host, said] in
      $0.append(.init(target: "SOCKS \(host)", password: said, head: ""))
    }
    if let refusal { return send([5, UInt8(refusal), 0, 1, 0, 0, 0, 0, 0, 0]) }
    guard let server = connected(toPort: UInt16(port)) else {
      return send([5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
    }
    send([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
    relay(server)
  }

  private func answer(_ status: Int) {
    send(Array("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
  }

  private func send(_ bytes: [UInt8]) { _ = sendAll(bytes, to: client) }

  private func read(_ count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var piece = [UInt8](repeating: 0, count: count - bytes.count)
      let got = recv(client, &piece, piece.count, 0)
      guard got > 0 else { return nil }
      bytes += piece[..<got]
    }
    return bytes
  }

  private func relay(_ server: Int32) {
    let asked = Gate("the client's side to be over")
    Thread.detachNewThread { [client] in
      while let piece = received(from: client), sendAll(piece, to: server) {}
      shutdown(server, Int32(SHUT_WR))
      asked.open()
    }
    while let piece = received(from: server), sendAll(piece, to: client) {}
    for socket in [client, server] { shutdown(socket, Int32(SHUT_RDWR)) }
    try? asked.waitBlocking()
    close(server)
  }

  private static func port(_ place: String) -> UInt16 {
    place.lastIndex(of: ":").flatMap { UInt16(place[place.index(after: $0)...]) } ?? 80
  }
}
