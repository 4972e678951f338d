import Foundation
import Glibc
import Synchronization

@testable import Transfer

/// A directory that lasts as long as the object, with `store` and `parts` in it.
final class Scratch: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "haul-" + UUID().uuidString
    for name in ["store", "parts"] {
      try FileManager.default.createDirectory(
        atPath: "\(path)/\(name)", withIntermediateDirectories: true)
    }
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      print("left behind: \(path): \(error)")
    }
  }

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

/// Opens once; whoever waits goes on.
final class Gate: Sendable {
  private let state = Mutex<(open: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

  func open() {
    let waiting = state.withLock { state in
      state.open = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let open = state.withLock { state in
        if !state.open { state.waiting.append(continuation) }
        return state.open
      }
      if open { continuation.resume() }
    }
  }
}
