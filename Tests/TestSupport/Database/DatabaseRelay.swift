import Foundation
import Glibc
import Synchronization

/// Stands between programs and a PostgreSQL server, and loses replies when told to.
///
/// It listens on TCP loopback and connects to the server's Unix socket. What it is told to lose it loses after the
/// server has finished the statement: whatever the statement did is committed by then.
package final class DatabaseRelay: Sendable {
  /// What becomes of a reply.
  package enum Loss: Sendable {
    /// The connection breaks before a byte of the reply has been passed on.
    case cut
    /// Nothing is passed on from then on, and the connection stays open.
    case silence
    /// It is passed on after all.
    case arrives
  }

  /// What it has done so far.
  package struct State: Sendable {
    package fileprivate(set) var connections = 0
    /// Replies lost.
    package fileprivate(set) var lost = 0
    /// Replies passed on that ``pass(replyTo:)`` is about.
    package fileprivate(set) var passed = 0
    /// New connections are closed at once.
    fileprivate var refuses = false
    /// The socket of the server that new connections lead to.
    fileprivate var server = ""
    /// How often everything was let through again.
    fileprivate var restored = 0
    fileprivate var rules: [(text: [UInt8], loss: Loss, left: Int)] = []

    /// The loss that a message with these bytes is to suffer.
    fileprivate mutating func loss(for message: [UInt8]) -> Loss? {
      for index in rules.indices where rules[index].left > 0 {
        guard message.firstRange(of: rules[index].text) != nil else { continue }
        rules[index].left -= 1
        return rules[index].loss
      }
      return nil
    }
  }

  package let state = Watched(State())
  /// For libpq: the database's own with the relay's address.
  package let conninfo: String
  private let listener: Int32

  /// A relay to the server of `database`, whose conninfo names the directory of a Unix socket.
  package init(to database: TestDatabase) throws {
    let server = try Self.socket(of: database)
    state.update { $0.server = server }
    listener = try loopbackSocket(address: "127.0.0.1")
    guard listen(listener, 64) == 0 else { throw POSIXError.last }
    conninfo = "\(database.conninfo) host=127.0.0.1 port=\(try boundPort(of: listener))"
    let (listener, state) = (listener, state)
    Thread.detachNewThread {
      while let client = accepted(from: listener) {
        let server = state.update { state in
          state.connections += 1
          return state.refuses ? nil : state.server
        }
        guard let server, let upstream = connected(to: server) else {
          close(client)
          continue
        }
        RelayedConnection(client: client, server: upstream, state: state).run()
      }
      close(listener)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private static func socket(of database: TestDatabase) throws -> String {
    guard let host = database.conninfo.firstMatch(of: /host=([^ ]+)/)?.1 else {
      throw NoTestServer()
    }
    return "\(host)/.s.PGSQL.5432"
  }

  /// Leads new connections to the server of `database`; those that there are stay.
  package func lead(to database: TestDatabase) throws {
    let server = try Self.socket(of: database)
    state.update { $0.server = server }
  }

  /// Loses the replies to the next `count` messages that contain `text`.
  package func lose(_ loss: Loss, replyTo text: String, count: Int = 1) {
    state.update { $0.rules.append((Array(text.utf8), loss, count)) }
  }

  /// Loses no more replies to messages that contain `text`, and returns when the next one has been passed on.
  package func pass(replyTo text: String) async throws {
    let before = state.update { state in
      state.rules.removeAll { $0.text == Array(text.utf8) }
      state.rules.append((Array(text.utf8), .arrives, 1))
      return state.passed
    }
    try await state.first("a reply to \(text)", within: .seconds(30)) {
      $0.passed > before ? () : nil
    }
  }

  /// Answers nothing any more and closes new connections at once, until ``restore()``.
  package func partition() {
    state.update { state in
      state.refuses = true
      state.rules = [(Array("haul.".utf8), .silence, .max)]
    }
  }

  /// Waits until so many more connections have been asked for.
  package func asked(_ count: Int, within limit: Duration = .seconds(60)) async throws {
    let before = state.value.connections
    try await state.first("\(count) more connections", within: limit) {
      $0.connections >= before + count ? () : nil
    }
  }

  /// Breaks the connections that are silent, and passes everything on from now on.
  package func restore() {
    state.update { state in
      state.refuses = false
      state.rules = []
      state.restored += 1
    }
  }

  /// Waits until that many replies have been lost.
  package func lost(_ count: Int, within limit: Duration = .seconds(30)) async throws {
    try await state.first("\(count) lost replies", within: limit) { $0.lost >= count ? () : nil }
  }
}

/// One client's way to the server and back, a thread each.
private final class RelayedConnection: Sendable {
  private let client: Int32
  private let server: Int32
  private let state: Watched<DatabaseRelay.State>
  /// What happens to the reply that comes next.
  private let loss = Mutex<DatabaseRelay.Loss?>(nil)
  private let ended = Mutex(0)

  init(client: Int32, server: Int32, state: Watched<DatabaseRelay.State>) {
    self.client = client
    self.server = server
    self.state = state
  }

  func run() {
    Thread.detachNewThread {
      self.passRequests()
      self.end()
    }
    Thread.detachNewThread {
      self.passReplies()
      self.end()
    }
  }

  /// A text may be cut in two by reads: the end of what came before is looked at again.
  private func passRequests() {
    var recent: [UInt8] = []
    while let piece = received(from: client) {
      recent = recent.suffix(100) + piece
      if let loss = state.update({ $0.loss(for: recent) }) {
        self.loss.withLock { $0 = loss }
        recent = []
      }
      guard sendAll(piece, to: server) else { return }
    }
  }

  /// The server says ReadyForQuery when a statement has been committed (PostgreSQL manual, "Message Formats").
  private func passReplies() {
    let ready: [UInt8] = [UInt8(ascii: "Z"), 0, 0, 0, 5]
    var recent: [UInt8] = []
    while let piece = received(from: server) {
      let fate = loss.withLock { $0 }
      if fate == nil || fate == .arrives, !sendAll(piece, to: client) { return }
      guard let fate else { continue }
      recent = recent.suffix(6) + piece
      guard recent.dropLast().suffix(5).elementsEqual(ready) else { continue }
      if fate == .arrives {
        loss.withLock { $0 = nil }
        state.update { $0.passed += 1 }
        continue
      }
      let restored = state.update { state in
        state.lost += 1
        return state.restored
      }
      if fate == .silence {
        try? state.firstBlocking("the end of the silence", within: .seconds(300)) {
          $0.restored > restored
        }
      }
      return
    }
  }

  /// Whoever ends second closes both.
  private func end() {
    shutdown(client, Int32(SHUT_RDWR))
    shutdown(server, Int32(SHUT_RDWR))
    let isLast = ended.withLock { ended in
      ended += 1
      return ended == 2
    }
    if isLast {
      close(client)
      close(server)
    }
  }
}

func received(from socket: Int32) -> [UInt8]? {
  var piece = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = recv(socket, &piece, piece.count, 0)
    if count < 0 && errno == EINTR { continue }
    return count > 0 ? Array(piece[..<count]) : nil
  }
}

func sendAll(_ bytes: [UInt8], to socket: Int32) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count < 0 && errno == EINTR { continue }
    guard count > 0 else { return false }
    rest = rest.dropFirst(count)
  }
  return true
}

/// A connection to a Unix socket; nil when nobody accepts it.
private func connected(to path: String) -> Int32? {
  var name = sockaddr_un()
  name.sun_family = sa_family_t(AF_UNIX)
  let fits = withUnsafeMutableBytes(of: &name.sun_path) { field in
    guard path.utf8.count < field.count else { return false }
    field.copyBytes(from: path.utf8)
    return true
  }
  let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  guard fits, socket >= 0 else { return nil }
  let result = withUnsafeBytes(of: &name) {
    connect(
      socket, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
  }
  if result == 0 { return socket }
  close(socket)
  return nil
}
