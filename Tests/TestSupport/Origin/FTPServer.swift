import Foundation
import Glibc

/// pyftpdlib on a loopback port, serving a directory to `anonymous` and to `user` with the password `hunter2`.
///
/// It ends with this object, and with the test process.
package final class FTPServer: Sendable {
  /// How it differs from a server that does all that is asked of it.
  package struct Habits: Sendable, Codable {
    /// Commands that it does not know, such as `MDTM`.
    package var without: [String] = []
    /// Where it says that its data connections are (PASV).
    package var claimsAddress: String?
    /// Sends so many bytes of a file, and no more until ``FTPServer/release()``.
    package var holdsAt: Int64?
    /// `cert.pem` and `key.pem` in this directory: TLS is to be had (RFC 4217).
    package var certificates: String?
    /// Says 421 to whoever comes.
    package var isBusy = false
    /// Lets in nobody who does not say who he is.
    package var wantsUser = false

    package init() {}
  }

  package let port: UInt16
  /// The directory it serves; put files there before or while it runs.
  package let root: String
  private let directory: TemporaryDirectory
  private let program: OriginProgram

  /// Starts it; on return it accepts connections.
  package init(_ habits: Habits = Habits()) async throws {
    directory = try TemporaryDirectory()
    root = directory.path("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    port = try OriginProgram.freePort()
    let text = String(decoding: try JSONEncoder().encode(habits), as: UTF8.self)
    program = try await OriginProgram(
      "/usr/bin/python3", ["-c", Self.script, directory.path, "\(port)", text], port: port,
      errorLog: directory.path("commands.log"))
  }

  package var host: String { "127.0.0.1:\(port)" }

  package func url(_ path: String) -> String { "ftp://\(host)\(path)" }

  /// A file that was last changed `age` ago.
  package func put(_ name: String, _ content: [UInt8], age: Duration = .seconds(3600)) throws {
    try Self.put(content, at: "\(root)/\(name)", age: age)
  }

  /// Lets go of what is held at ``Habits/holdsAt``, for good.
  package func release() throws { try directory.write("", to: "released") }

  /// The commands that came so far, in order, without those that everybody begins with.
  package func commands(_ names: Set<String> = ["REST", "RETR", "PASS"]) throws -> [String] {
    try String(contentsOfFile: directory.path("commands.log"), encoding: .utf8)
      .split(separator: "\n").map(String.init)
      .filter { names.contains(String($0.prefix { $0 != " " })) }
  }

  static func put(_ content: [UInt8], at path: String, age: Duration) throws {
    try Data(content).write(to: URL(fileURLWithPath: path))
    let time = Date(timeIntervalSinceNow: -(age / .seconds(1)))
    try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
  }

  private static let script = """
    import json, os, sys, time
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler, FileProducer, DTPHandler, TLS_DTPHandler
    from pyftpdlib.servers import FTPServer
    import pyftpdlib.handlers
    directory, port, habits = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    log = open(directory + '/commands.log', 'a', buffering=1)
    hold = habits.get('holdsAt')

    class Held(FileProducer):
      sent = 0
      def more(self):
        while hold is not None and self.sent >= hold and not os.path.exists(directory + '/released'):
          time.sleep(0.005)  # until the test makes that file: its word, since the server has no other ear
        data = FileProducer.more(self)
        self.sent += len(data)
        return data
      buffer_size = 4096

    pyftpdlib.handlers.FileProducer = Held
    base = TLS_FTPHandler if habits.get('certificates') else FTPHandler

    class Handler(base):
      use_sendfile = False
      def pre_process_command(self, line, cmd, arg):
        log.write(line + '\\n')
        base.pre_process_command(self, line, cmd, arg)
      def on_connect(self):
        if habits['isBusy']: self.respond('421 Too many users.'); self.close_when_done()

    if habits.get('certificates'):
      Handler.certfile = habits['certificates'] + '/cert.pem'
      Handler.keyfile = habits['certificates'] + '/key.pem'
    Handler.proto_cmds = {k: v for k, v in base.proto_cmds.items() if k not in habits['without']}
    if habits.get('claimsAddress'): Handler.masquerade_address = habits['claimsAddress']
    users = DummyAuthorizer()
    if not habits['wantsUser']: users.add_anonymous(directory + '/root')
    users.add_user('user', 'hunter2', directory + '/root')
    Handler.authorizer = users
    FTPServer(('127.0.0.1', port), Handler).serve_forever(handle_exit=False)
    """
}
