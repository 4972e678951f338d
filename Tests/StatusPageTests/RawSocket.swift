import Glibc
import TestSupport

/// A socket whose bytes the test sends itself.
final class RawSocket: Sendable {
  struct Failure: Error { let errno: Int32 }

  let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Connected to 127.0.0.1.
  convenience init(port: UInt16) throws {
    guard let descriptor = connected(toPort: port) else { throw Failure(errno: errno) }
    self.init(descriptor)
  }

  deinit { close(descriptor) }

  /// Two that are connected to each other.
  static func pair() throws -> (RawSocket, RawSocket) {
    var ends: [Int32] = [-1, -1]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
      throw Failure(errno: errno)
    }
    return (RawSocket(ends[0]), RawSocket(ends[1]))
  }

  func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    let sent = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    guard sent == bytes.count else { throw Failure(errno: errno) }
  }

  /// What comes next, in one piece; "" at the end.
  func receive() throws -> String {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
    guard count >= 0 else { throw Failure(errno: errno) }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// Whether the other side has ended the connection and all that it sent has been taken.
  var hasEnded: Bool {
    var byte: UInt8 = 0
    let count = unsafe recv(
      descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count == 0 || (count < 0 && errno != EAGAIN)
  }
}
