import Foundation
import Glibc

/// A directory of a test's own, removed with all that is in it when this object goes.
package final class TemporaryDirectory: Sendable {
  /// Absolute and short, so that a socket may lie in it.
  package let path: String

  /// - Throws: `POSIXError` when it cannot be made.
  package init() throws {
    var template = Array("/tmp/haul.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw POSIXError.last }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    // The user postgres must be able to enter, whoever runs the tests.
    chmod(path, 0o755)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The absolute path of something in it.
  package func path(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a whole file and makes the directories on the way.
  ///
  /// - Returns: its absolute path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    let file = URL(fileURLWithPath: path(name))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    return file.path
  }
}
