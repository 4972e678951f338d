import Foundation
import Glibc
import HaulSystem
import Testing

@testable import HaulTransfer

@Suite struct DestinationTests {
  let scratch: Scratch
  let parts: PartDirectory

  init() throws {
    scratch = try Scratch()
    parts = try scratch.parts()
  }

  /// renameat2 of a file system that knows no flags, with the error number it gives.
  private static func flagless(_ number: Int32) -> Destination.Rename {
    { from, name, to, newName, flags in
      if flags != 0 { return number }
      return renameat(from.raw, name, to.raw, newName) == 0 ? 0 : errno
    }
  }

  private func destination(_ rename: Destination.Rename?) throws -> Destination {
    guard let rename else { return try scratch.destination() }
    return Destination(root: try FileDescriptor.directory(scratch.store), renameat2: rename)
  }

  private func publish(
    _ part: String, _ path: String, _ policy: CollisionPolicy, _ rename: Destination.Rename? = nil
  ) throws -> Destination.Placement {
    let destination = try destination(rename)
    let path = try RelativePath(path)
    let parent = try destination.makeParent(of: path)
    let inode = try parts.directory.status(of: part)?.inode ?? 0
    let placement = try destination.place(
      part: part, inode: inode, of: parts, at: path, in: parent, policy: policy)
    try parent.sync()
    return placement
  }

  @Test func `directories are made on the way`() throws {
    let part = try scratch.part("1-1", "new")
    let path = try RelativePath("a/b/c.txt")
    #expect(try publish("1-1", "a/b/c.txt", .fail) == .placed(path))
    #expect(scratch.result("a/b/c.txt") == "new")
    #expect(try parts.names(startingWith: "") == [])
    let destination = try scratch.destination()
    #expect(try destination.makeParent(of: RelativePath("a/d/e/f")).unsynced.count == 3)
    let found = try destination.find(path, policy: .fail) { $0.inode == part.inode }
    #expect(found == path)
    #expect(try destination.find(path, policy: .rename) { $0.inode != part.inode } == nil)
    for other in ["a", "no/where"] {
      #expect(try destination.find(RelativePath(other), policy: .fail) { _ in true } == nil)
    }
  }

  @Test func `what stands under a name is told without opening it`() throws {
    _ = try scratch.part("1-1", "new")
    _ = try publish("1-1", "a/b", .fail)
    #expect(mkfifo(scratch.store + "/fifo", 0) == 0)
    #expect(symlink("a", scratch.store + "/link") == 0)
    let destination = try scratch.destination()
    for (path, occupant) in [
      ("a/b", .file(length: 3)), ("a", .directory), ("fifo", .other), ("link", .other), ("c", nil),
      ("c/d", nil),
    ] as [(String, Destination.Occupant?)] {
      #expect(try destination.occupant(of: RelativePath(path)) == occupant, "\(path)")
    }
    for path in ["a/b/c", "link/b"] {
      let error = #expect(throws: TransferError.self) {
        try destination.occupant(of: RelativePath(path))
      }
      #expect(error?.errorClass == .pathConflict, "\(path)")
    }
  }

  @Test func `the way to a directory is synced until this process has done so`() throws {
    let destination = try scratch.destination()
    let path = try RelativePath("a/b/c.txt")
    // Whoever made them may not have synced them: it is in the same place as another that dies now.
    _ = try destination.makeParent(of: path)
    let parent = try destination.makeParent(of: path)
    #expect(parent.unsynced.count == 2)
    // Of two syncs of one open directory, only one would get a write error.
    #expect(try destination.makeParent(of: path).unsynced.first !== parent.unsynced.first)
    try parent.sync()
    #expect(try destination.makeParent(of: path).unsynced.isEmpty)
    #expect(try destination.makeParent(of: RelativePath("c.txt")).unsynced.isEmpty)
    #expect(try scratch.destination().makeParent(of: path).unsynced.count == 2)

    // Another directory of that name.
    let place = scratch.store + "/a"
    try FileManager.default.moveItem(atPath: place, toPath: place + ".old")
    #expect(try destination.makeParent(of: path).unsynced.count == 2)
  }

  @Test(arguments: [nil, EINVAL, ENOSYS], CollisionPolicy.allCases)
  func `a collision follows the policy, with and without rename flags`(
    _ refusal: Int32?, _ policy: CollisionPolicy
  ) throws {
    let rename = refusal.map { Self.flagless($0) }
    for (name, text) in [("1-1", "old"), ("2-1", "new")] { _ = try scratch.part(name, text) }
    _ = try publish("1-1", "d/f.tar.gz", policy, rename)
    switch policy {
    case .fail:
      let error = #expect(throws: TransferError.self) {
        try publish("2-1", "d/f.tar.gz", policy, rename)
      }
      #expect(error?.errorClass == .exists)
      #expect(scratch.result("d/f.tar.gz") == "old")
      #expect(scratch.exists("parts/2-1"))
    case .skip:
      #expect(try publish("2-1", "d/f.tar.gz", policy, rename) == .skipped)
      #expect(scratch.result("d/f.tar.gz") == "old")
      #expect(scratch.exists("parts/2-1"))
    case .replace:
      #expect(
        try publish("2-1", "d/f.tar.gz", policy, rename)
          == .placed(RelativePath("d/f.tar.gz")))
      #expect(scratch.result("d/f.tar.gz") == "new")
      #expect(!scratch.exists("parts/2-1"))
    case .rename:
      #expect(
        try publish("2-1", "d/f.tar.gz", policy, rename)
          == .placed(RelativePath("d/f.tar.1.gz")))
      #expect(scratch.result("d/f.tar.gz") == "old")
      #expect(scratch.result("d/f.tar.1.gz") == "new")
      #expect(!scratch.exists("parts/2-1"))
      _ = try scratch.part("3-1", "newer")
      _ = try publish("3-1", "d/f.tar.gz", policy, rename)
      #expect(scratch.result("d/f.tar.2.gz") == "newer")
    }
  }

  @Test func `a link whose answer was lost counts as done`() throws {
    _ = try scratch.part("1-1", "new")
    link(scratch.path + "/parts/1-1", scratch.store + "/f")
    #expect(try publish("1-1", "f", .fail, Self.flagless(EINVAL)) == .placed(RelativePath("f")))
    #expect(!scratch.exists("parts/1-1"))
  }

  @Test(arguments: CollisionPolicy.allCases)
  func `whoever lost the part file finds nothing`(_ policy: CollisionPolicy) throws {
    #expect(try publish("1-1", "f", policy) == .partMissing)
    #expect(try publish("1-1", "f", policy, Self.flagless(EINVAL)) == .partMissing)
    #expect(!scratch.exists("store/f"))
  }

  @Test func `a file that has taken the name of the part is left to its owner`() throws {
    let part = try scratch.part("1-1", "mine")
    let path = try RelativePath("f")
    let destination = try scratch.destination()
    let parent = try destination.makeParent(of: path)
    try parts.remove("1-1")
    _ = try scratch.part("other", "in between")
    _ = try scratch.part("1-1", "of another")
    #expect(
      try destination.place(
        part: "1-1", inode: part.inode, of: parts, at: path, in: parent, policy: .fail)
        == .partMissing)
    #expect(!scratch.exists("store/f"))
    #expect(scratch.exists("parts/1-1"))
  }

  @Test(arguments: [CollisionPolicy.fail, .skip, .replace])
  func `files and directories in each other's way`(_ policy: CollisionPolicy) throws {
    for name in ["1-1", "2-1", "3-1"] { _ = try scratch.part(name, name) }
    _ = try publish("1-1", "a", policy)
    expectConflict { try publish("2-1", "a/b", policy) }
    mkdir(scratch.store + "/d", 0o777)
    expectConflict { try publish("3-1", "d", policy) }
    expectConflict { try publish("3-1", "d", policy, Self.flagless(EINVAL)) }
    #expect(scratch.result("a") == "1-1")
  }

  @Test func `no symbolic link is followed`() throws {
    _ = try scratch.part("1-1", "new")
    mkdir(scratch.path + "/outside", 0o777)
    symlink("../outside", scratch.store + "/d")
    symlink(scratch.path + "/outside", scratch.store + "/e")
    mkdir(scratch.store + "/real", 0o777)
    symlink("real", scratch.store + "/inside")
    for path in ["d/f", "e/f", "inside/f", "d/x/f"] {
      expectConflict { try publish("1-1", path, .replace) }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/outside") == [])
    // A link under the final name is replaced itself, not what it points at.
    _ = try scratch.part("2-1", "secret")
    rename(scratch.path + "/parts/2-1", scratch.path + "/outside/target")
    symlink("../outside/target", scratch.store + "/f")
    #expect(try scratch.destination().open(RelativePath("f")) == nil)
    #expect(try publish("1-1", "f", .replace) == .placed(RelativePath("f")))
    #expect(scratch.result("f") == "new")
    #expect(scratch.result("../outside/target") == "secret")
  }

  @Test func `what is no regular file is no finished file`() throws {
    #expect(mkdir(scratch.store + "/directory", 0o755) == 0)
    #expect(mkfifo(scratch.store + "/pipe", 0o644) == 0)
    #expect(mknod(scratch.store + "/socket", S_IFSOCK | 0o644, 0) == 0)
    symlink("link", scratch.store + "/link")
    for name in ["directory", "pipe", "socket", "link", "socket/below", "none"] {
      #expect(try scratch.destination().open(RelativePath(name)) == nil, "\(name)")
    }
  }

  private func expectConflict(_ body: () throws -> Destination.Placement) {
    let error = #expect(throws: TransferError.self) { try body() }
    #expect(error?.errorClass == .pathConflict)
  }
}

@Suite struct RelativePathTests {
  @Test(arguments: [
    "a", "a/b", "…/ü", "a b", ".hidden", "...", "a/.haul", "C:\\x",
    String(repeating: "x", count: 255),
  ])
  func `reads what stays below`(_ text: String) throws {
    #expect(try RelativePath(text).description == text)
  }

  @Test(arguments: [
    ("", RelativePath.Invalid.empty), ("/", .empty), ("//", .empty), ("/a", .absolute),
    ("a//b", .emptyComponent), ("a/", .emptyComponent), (".", .dots), ("..", .dots),
    ("a/../b", .dots), ("a/.", .dots), ("../a", .dots), ("a\0b", .controlCharacter),
    ("a\nb", .controlCharacter), ("a/\u{7f}", .controlCharacter), ("\u{85}", .controlCharacter),
    (String(repeating: "x", count: 256), .tooLong), (String(repeating: "ü", count: 128), .tooLong),
    (String(repeating: "x/", count: 2500) + "x", .tooLong), (".haul", .reserved),
    (".haul/parts/x", .reserved), (".HAUL/store.json", .reserved),
  ])
  func `says why it is none`(_ text: String, _ reason: RelativePath.Invalid) {
    #expect(throws: reason) { try RelativePath(text) }
  }

  @Test(arguments: [248, 255])
  func `a damaged file's name is one, however long the file's is`(length: Int) throws {
    let path = try RelativePath(String(repeating: "n", count: length))
    #expect(path.damagedName.utf8.count == 255 && path.damagedName.hasSuffix("n.damaged"))
  }

  @Test(arguments: [
    ("a", "a.1"), ("d/a.txt", "d/a.1.txt"), ("a.tar.gz", "a.tar.1.gz"), (".profile", ".profile.1"),
    ("a.", "a.1."),
    (String(repeating: "x", count: 251) + ".txt", String(repeating: "x", count: 249) + ".1.txt"),
    // What is longer than any extension is none.
    ("a." + String(repeating: "x", count: 253), "a." + String(repeating: "x", count: 251) + ".1"),
    (String(repeating: "ü", count: 127), String(repeating: "ü", count: 126) + ".1"),
  ])
  func `numbers go before the extension`(_ text: String, _ numbered: String) throws {
    #expect(try RelativePath(text).numbered(1).description == numbered)
  }
}
