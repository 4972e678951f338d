import Foundation
import Glibc
import Synchronization

/// A real server program, started by a test in the foreground, on a loopback port of its own.
///
/// It ends with this object, and with the test process.
package final class OriginProgram: Sendable {
  private let child: ChildProcess

  /// Starts it; on return it accepts connections on that port of 127.0.0.1.
  ///
  /// - Parameter errorLog: the file in which it says why it does not start, besides its output.
  /// - Throws: ``TimedOut`` with its errors when it does not start; `POSIXError`.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:], port: UInt16,
    errorLog: String
  ) async throws {
    child = try ChildProcess(program, arguments, environment: environment)
    let child = child
    let what = "\(program) to listen"
    do {
      try await eventually(what) {
        if let exit = child.output.value.exit {
          throw TimedOut(what: what, limit: .zero, detail: "it ended: \(exit)")
        }
        guard let socket = connected(toPort: port) else { return false }
        close(socket)
        return true
      }
    } catch let error as TimedOut {
      let errors = (try? String(contentsOfFile: errorLog, encoding: .utf8)) ?? ""
      let output = child.output.value
      let lines = (output.standardOutput + output.standardError).joined(separator: "\n")
      throw TimedOut(
        what: error.what, limit: error.limit, detail: "\(error.detail)\n\(errors)\(lines)")
    }
  }

  package func signal(_ number: Int32) { child.signal(number) }

  /// The processes that it started, each before those that it started itself.
  func descendants() -> [pid_t] {
    func below(_ process: pid_t) -> [pid_t] {
      let list = "/proc/\(process)/task/\(process)/children"
      let children = (try? String(contentsOfFile: list, encoding: .utf8)) ?? ""
      return children.split(separator: " ").compactMap { pid_t($0) }.flatMap { [$0] + below($0) }
    }
    return below(child.pid)
  }

  /// Sends a signal that ends it and waits until it has ended.
  package func end(by signal: Int32 = SIGTERM) async throws {
    child.signal(signal)
    try await child.exit()
  }

  /// A port that was free a moment ago, below those that the kernel gives to clients (ip_local_port_range), and that no
  /// other test of this process has been given.
  ///
  /// - Throws: `POSIXError` when none is found.
  package static func freePort() throws -> UInt16 {
    for _ in 0..<1000 {
      let port = UInt16.random(in: 20_000..<32_000)
      guard givenPorts.withLock({ $0.insert(port).inserted }) else { continue }
      let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard socket >= 0 else { throw POSIXError.last }
      defer { close(socket) }
      if withSocketAddress("127.0.0.1", port: port, { bind(socket, $0, $1) }) == 0 { return port }
    }
    throw POSIXError(.EADDRINUSE)
  }

  private static let givenPorts = Mutex<Set<UInt16>>([])
}

/// A connection to that port of 127.0.0.1; nil when nobody accepts it.
package func connected(toPort port: UInt16) -> Int32? {
  let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var name = sockaddr_in()
  name.sin_family = sa_family_t(AF_INET)
  name.sin_port = port.bigEndian
  name.sin_addr.s_addr = inet_addr("127.0.0.1")
  let result = withUnsafeBytes(of: &name) {
    connect(socket, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
  }
  if result == 0 { return socket }
  close(socket)
  return nil
}
