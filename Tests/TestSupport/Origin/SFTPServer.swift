import Foundation
import Glibc

/// OpenSSH's sshd on a loopback port, for whoever runs the tests, who proves that by a key.
///
/// It ends with this object, and with the test process.
package final class SFTPServer: Sendable {
  package let port: UInt16
  /// The directory for files; `url` has them below it.
  package let root: String
  /// The private key of the only user, ``user``.
  package let key: String
  package let user: String
  /// Has the server's key under its address.
  package let knownHosts: String
  private let directory: TemporaryDirectory
  private let program: OriginProgram

  /// Starts it; on return it accepts connections.
  package init() async throws {
    directory = try TemporaryDirectory()
    root = directory.path("root")
    key = directory.path("id")
    user = String(cString: getpwuid(getuid()).pointee.pw_name)
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    // Where sshd locks itself in as root.
    if getuid() == 0 { mkdir("/run/sshd", 0o755) }
    port = try OriginProgram.freePort()
    try await Self.makeKey(key)
    knownHosts = try await Self.makeHostKey("host", in: directory, port: port)
    try directory.write(
      """
      Port \(port)
      ListenAddress 127.0.0.1
      HostKey \(directory.path("host"))
      AuthorizedKeysFile \(directory.path("id.pub"))
      PidFile none
      StrictModes no
      UsePAM no
      PasswordAuthentication no
      KbdInteractiveAuthentication no
      PermitRootLogin prohibit-password
      Subsystem sftp internal-sftp
      """, to: "sshd_config")
    program = try await OriginProgram(
      "/usr/sbin/sshd", ["-D", "-e", "-f", directory.path("sshd_config")], port: port,
      errorLog: directory.path("sshd_config"))
  }

  package var host: String { "127.0.0.1:\(port)" }

  package func url(_ name: String) -> String { "sftp://\(host)\(root)/\(name)" }

  /// A file that was last changed `age` ago.
  package func put(_ name: String, _ content: [UInt8], age: Duration = .seconds(3600)) throws {
    try FTPServer.put(content, at: "\(root)/\(name)", age: age)
  }

  /// Kills what serves those who are logged in now; no word goes out.
  package func breakOff() {
    // What holds the connection first: it would end in order what reads the files.
    for process in program.descendants() { kill(process, SIGKILL) }
  }

  /// Kills what reads the files for those who are logged in now; what holds the connection stays.
  package func breakOffFiles() {
    if let last = program.descendants().last { kill(last, SIGKILL) }
  }

  /// A file of known hosts where another key stands for the server.
  package func forgedKnownHosts() async throws -> String {
    try await Self.makeHostKey("other", in: directory, port: port)
  }

  /// Makes a key for a server, and a file of known hosts that has it. Returns the latter's path.
  static func makeHostKey(
    _ name: String, in directory: TemporaryDirectory, port: UInt16
  ) async throws -> String {
    try await makeKey(directory.path(name))
    let key = try String(contentsOfFile: directory.path("\(name).pub"), encoding: .utf8)
    return try directory.write("[127.0.0.1]:\(port) \(key)", to: "known_hosts of \(name)")
  }

  private static func makeKey(_ path: String) async throws {
    let made = try await ChildProcess.run(
      "ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", path])
    guard made.exit == .code(0) else { throw POSIXError(.EINVAL) }
  }
}
