import Foundation
import HaulTransfer
import Synchronization
import TestSupport

/// Programs that serve files by their own reading of the RFCs.
enum ServerKind: String, CaseIterable, Sendable {
  case nginx
  /// HTTP/2 over TLS.
  case nginxTLS
  case apache
  case lighttpd
  case caddy
  /// A cache before nginx, as a reverse proxy.
  case squid
  /// Another one.
  case varnish
}

/// One of them with a directory of its own and `/file.txt` in it, which it would compress if asked to.
final class IndependentServer: Sendable {
  /// What it makes of a request.
  enum Mode {
    case honest
    /// Honest, and its entity tag weak.
    case weak
    /// 429 or 503, and 7 seconds to wait.
    case busy
  }

  /// More than the kernel's buffers hold behind the middle, which is at ``middle``.
  static let length: Int64 = 8 << 20
  static let middle = 2 << 20
  /// Long past, so that the date is a strong validator, too.
  private static let modified = Date(timeIntervalSince1970: 1_700_000_000)

  let kind: ServerKind
  let port: UInt16
  private let directory: TemporaryDirectory
  private let program = Mutex<OriginProgram?>(nil)
  /// Where a cache has its files from.
  private let behind: IndependentServer?

  /// Running, with version 1 of the file.
  init(_ kind: ServerKind, _ mode: Mode = .honest) async throws {
    self.kind = kind
    directory = try TemporaryDirectory()
    port = try OriginProgram.freePort()
    behind =
      [.squid, .varnish].contains(kind) ? try await IndependentServer(.nginx, mode) : nil
    for name in ["root", "tmp"] {
      try FileManager.default.createDirectory(
        atPath: directory.path(name), withIntermediateDirectories: true)
    }
    // Squid is another user as soon as it has begun.
    if kind == .squid { chmod(directory.path, 0o777) }
    if kind == .lighttpd { try directory.write(ServerKind.busyScript, to: "root/busy.sh") }
    if kind == .nginxTLS { try await makeCertificate(in: directory) }
    try replace(by: 1, inPlace: false)
    try await start(mode)
  }

  /// Ends it, breaking what is under way, and starts it anew; of Squid, the server behind it: Varnish has the file by then.
  func restart(_ mode: Mode) async throws {
    if kind == .squid { return try await behind?.restart(mode) ?? () }
    try await program.withLock { $0 }?.end(by: kind.breakSignal)
    try await start(mode)
  }

  /// Has it read its configuration again, and returns when it says that it does.
  func reload() async throws {
    let before = try kind.reloadSign.map { try errors.ranges(of: $0).count }
    for command in kind.reloadCommands(configurationFile, directory: directory.path) {
      let done = try await ChildProcess.run(
        command[0], Array(command.dropFirst()), environment: environment)
      guard done.exit == .code(0) else { throw POSIXError(.EINVAL) }
    }
    if let signal = kind.reloadSignal { program.withLock { $0 }?.signal(signal) }
    guard let sign = kind.reloadSign, let before else { return }
    try await eventually("\(kind) to read its configuration again") {
      try errors.ranges(of: sign).count > before
    }
  }

  /// Ends it in order, and gives what it has logged: status and Range of each request.
  func stop() async throws -> [Substring] {
    // It starts itself anew once its last answer is over, and loses a signal that comes meanwhile.
    if kind == .lighttpd, let sign = kind.reloadSign {
      try await eventually("lighttpd to be up again") {
        try errors.ranges(of: "server started").count > errors.ranges(of: sign).count
      }
    }
    if kind == .varnish {
      // Its log is in memory.
      let log = try await ChildProcess.run(
        "varnishncsa", ["-n", directory.path("varnish"), "-d", "-F", #"%s "%{Range}i""#])
      try await program.withLock { $0 }?.end(by: kind.endSignal)
      return log.standardOutput.map { $0[...] }
    }
    try await program.withLock { $0 }?.end(by: kind.endSignal)
    return try String(contentsOfFile: directory.path("access.log"), encoding: .utf8)
      .split(separator: "\n")
  }

  /// Puts another version in the file's place: a new file of another date, or the bytes alone,
  /// which leaves every validator as it was.
  func replace(by version: Int, inPlace: Bool) throws {
    if let behind { return try behind.replace(by: version, inPlace: inPlace) }
    let file = directory.path("root/file.txt")
    let content = Pattern(seed: UInt64(version))
    if inPlace {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
      try handle.write(contentsOf: Data(content.bytes(in: 0..<Self.length)))
      try handle.close()
    } else {
      let new = directory.path("tmp/new")
      try content.write(to: new, length: Self.length)
      guard rename(new, file) == 0 else { throw POSIXError(.EIO) }
    }
    let date = inPlace ? Self.modified : Self.modified + TimeInterval(3600 * (version - 1))
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
  }

  /// Returns when what is answered comes from what the program has read: Varnish keeps what it fetches, however slowly it is
  /// taken, and has a mixture for ever of a file that changes in place meanwhile.
  func hasRead() async throws {
    guard kind == .varnish, let behind else { return }
    try await eventually("Varnish to have all of the file") {
      try !String(contentsOfFile: behind.directory.path("access.log"), encoding: .utf8).isEmpty
    }
  }

  /// Which version a file is, byte for byte; nil for none.
  static func version(of file: String) throws -> Int? {
    try [1, 2].first { version in
      try FileTree.firstDifference(
        of: file, from: Pattern(seed: UInt64(version)), length: length) == nil
    }
  }

  /// What a downloader needs to reach it through `relay`.
  func configuration(through relay: OriginRelay) -> Engine.Configuration {
    var configuration = Engine.Configuration.test
    if kind == .nginxTLS {
      configuration.resolve = ["tls.test:\(relay.port):127.0.0.1"]
      configuration.caFile = directory.path("cert.pem")
    }
    return configuration
  }

  func url(through relay: OriginRelay) -> String {
    "\(kind == .nginxTLS ? "https://tls.test" : "http://127.0.0.1"):\(relay.port)/file.txt"
  }

  private var configurationFile: String { directory.path("configuration") }

  private var errors: String {
    get throws { try String(contentsOfFile: directory.path("error.log"), encoding: .utf8) }
  }

  private var environment: [String: String] {
    ["HOME": directory.path, "XDG_DATA_HOME": directory.path, "XDG_CONFIG_HOME": directory.path]
  }

  private func start(_ mode: Mode) async throws {
    let text = kind.configuration(
      mode, directory: directory.path, port: port, behind: behind?.port)
    try directory.write(text, to: "configuration")
    let (path, arguments) = kind.command(
      configurationFile, directory: directory.path, port: port)
    let program = try await OriginProgram(
      path, arguments, environment: environment, port: port,
      errorLog: directory.path("error.log"))
    self.program.withLock { $0 = program }
  }
}
