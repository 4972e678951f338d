import Foundation

/// paramiko on a loopback port, serving a directory by SFTP to `user` with a password: sshd knows the machine's own users
/// alone.
///
/// It ends with this object, and with the test process.
package final class PasswordSFTPServer: Sendable {
  package let port: UInt16
  /// The directory it serves; put files there before or while it runs.
  package let root: String
  /// Has the server's key under its address.
  package let knownHosts: String
  private let directory: TemporaryDirectory
  private let program: OriginProgram

  /// Starts it; on return it accepts connections.
  package init(password: String = "hunter2") async throws {
    directory = try TemporaryDirectory()
    // Not on a command line, where tests look for secrets.
    try directory.write(password, to: "password")
    root = directory.path("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    port = try OriginProgram.freePort()
    knownHosts = try await SFTPServer.makeHostKey("host", in: directory, port: port)
    program = try await OriginProgram(
      "/usr/bin/python3", ["-c", Self.script, directory.path, "\(port)"], port: port,
      errorLog: directory.path("passwords.log"))
  }

  package var host: String { "127.0.0.1:\(port)" }

  package func url(_ name: String) -> String { "sftp://\(host)/\(name)" }

  /// A file that was last changed `age` ago.
  package func put(_ name: String, _ content: [UInt8], age: Duration = .seconds(3600)) throws {
    try FTPServer.put(content, at: "\(root)/\(name)", age: age)
  }

  /// Users and passwords that came so far, in order, right or wrong.
  package func passwords() throws -> [String] {
    try String(contentsOfFile: directory.path("passwords.log"), encoding: .utf8)
      .split(separator: "\n").map(String.init)
  }

  private static let script = """
    import os, paramiko, socket, sys, threading
    directory, port = sys.argv[1], int(sys.argv[2])
    log = open(directory + '/passwords.log', 'a', buffering=1)
    key = paramiko.Ed25519Key(filename=directory + '/host')
    right = open(directory + '/password').read()

    class Door(paramiko.ServerInterface):
      def get_allowed_auths(self, user): return 'password'
      def check_auth_password(self, user, password):
        log.write(user + ' ' + password + '\\n')
        known = (user, password) == ('user', right)
        return paramiko.AUTH_SUCCESSFUL if known else paramiko.AUTH_FAILED
      def check_channel_request(self, kind, number): return paramiko.OPEN_SUCCEEDED

    class Files(paramiko.SFTPServerInterface):
      def stat(self, path):
        try: return paramiko.SFTPAttributes.from_stat(os.stat(directory + '/root' + path))
        except OSError as error: return paramiko.SFTPServer.convert_errno(error.errno)
      def open(self, path, flags, attributes):
        handle = paramiko.SFTPHandle(flags)
        try: handle.readfile = open(directory + '/root' + path, 'rb')
        except OSError as error: return paramiko.SFTPServer.convert_errno(error.errno)
        return handle

    door = socket.create_server(('127.0.0.1', port))
    while True:
      guest = paramiko.Transport(door.accept()[0])
      guest.add_server_key(key)
      guest.set_subsystem_handler('sftp', paramiko.SFTPServer, Files)
      guest.start_server(threading.Event(), Door())  # which nobody waits for: whoever hangs up at once is no error
    """
}
