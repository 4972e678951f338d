import Foundation
import HaulSystem
import TestSupport

@testable import HaulTransfer

/// A directory of a test's own, with `store` and `parts` in it.
final class Scratch: Sendable {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    for name in ["store", "parts"] {
      try FileManager.default.createDirectory(
        atPath: directory.path(name), withIntermediateDirectories: true)
    }
  }

  var path: String { directory.path }

  var store: String { path + "/store" }

  func parts() throws -> PartDirectory {
    PartDirectory(try FileDescriptor.directory(path + "/parts"))
  }

  func destination() throws -> Destination {
    Destination(root: try FileDescriptor.directory(store))
  }

  /// A part file that holds `text`.
  func part(_ name: String, _ text: String) throws -> PartFile {
    let part = try parts().create(name)
    try write(text, to: part, at: 0)
    return part
  }

  /// What stands at `name` in the store, nil for nothing.
  func result(_ name: String) -> String? {
    FileManager.default.contents(atPath: "\(store)/\(name)")
      .map { String(decoding: $0, as: UTF8.self) }
  }

  func exists(_ name: String) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")) != nil
  }
}

func write(_ text: String, to part: PartFile, at offset: Int64) throws {
  let bytes = Array(text.utf8)
  try bytes.withUnsafeBytes { try part.write($0, at: offset) }
}
