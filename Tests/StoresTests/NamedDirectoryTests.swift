import Foundation
import TestSupport
import Testing

@testable import Stores

/// What is said of a directory that cannot serve, where rights are not the cause; for those see `OrdinaryUserTests`.
struct NamedDirectoryTests {
  /// A way for each to fail, below a directory with the file `file`, the link `loop` to itself and the link `dangling` to
  /// nothing.
  enum Way: CaseIterable {
    case opening, looking, making

    func fault(of directory: NamedDirectory) -> StoreError? {
      do throws(StoreError) {
        switch self {
        case .opening: _ = try directory.open()
        case .looking: try directory.requireRight()
        case .making: try directory.make()
        }
        return nil
      } catch {
        return error
      }
    }
  }

  private static func place() throws -> TemporaryDirectory {
    let place = try TemporaryDirectory()
    try place.write("", to: "file")
    symlink("loop", place.path("loop"))
    symlink("nowhere", place.path("dangling"))
    return place
  }

  private static let long = String(repeating: "x", count: 256)

  @Test(
    arguments: [
      ("", Way.allCases, "'' is not a directory"),
      ("file", Way.allCases, "DIR/file is not a directory"),
      ("file/a/b", Way.allCases, "DIR/file is not a directory"),
      (
        "loop", Way.allCases, "cannot write to DIR/loop: Too many levels of symbolic links"
      ),
      (long, Way.allCases, "cannot write to DIR/\(long): File name too long"),
      ("\(long)/a", Way.allCases, "cannot write to DIR/\(long)/a: File name too long"),
      (
        "new/a", [.opening],
        "DIR/new/a does not exist: mount it, or create it and run 'haul store init NAME DIR/new/a'"
      ), ("new/a", [.looking, .making], nil),
      (
        "dangling", [.opening],
        "DIR/dangling does not exist: mount it, or create it and run 'haul store init NAME DIR/dangling'"
      ), ("dangling", [.looking], nil),
      ("dangling", [.making], "DIR/dangling is not a directory"),
      (".", Way.allCases, nil),
    ] as [(String, [Way], String?)])
  func `each fault has its sentence`(name: String, ways: [Way], sentence: String?) throws {
    let place = try Self.place()
    let expected = sentence?.replacing("DIR", with: place.path)
    for way in ways {
      let directory = NamedDirectory(name.isEmpty ? name : place.path(name))
      #expect(way.fault(of: directory)?.description == expected, "\(way)")
    }
  }

  @Test func `looking at one makes nothing, and making it makes its parents`() throws {
    let place = try TemporaryDirectory()
    let directory = NamedDirectory(place.path("a/b/c"))
    try directory.requireRight()
    #expect(!FileManager.default.fileExists(atPath: place.path("a")))
    for _ in 1...2 { try directory.make() }
    _ = try directory.open()
  }

  @Test(.enabled("mounting takes root and loop devices") { await TestFileSystem.isPossible })
  func `a directory that was made is there after a loss of power, with its parents`() async throws {
    let disk = try await TestFileSystem(ext4: 16 << 20)
    try NamedDirectory("\(disk.path)/a/b/c").make()
    let first = try await disk.afterPowerLoss()
    try NamedDirectory("\(first.path)/a/b/c/d").make()
    // Proves that what nobody syncs is lost.
    mkdir("\(first.path)/lost", 0o755)
    let second = try await first.afterPowerLoss()
    _ = try NamedDirectory("\(second.path)/a/b/c/d").open()
    #expect(!FileManager.default.fileExists(atPath: "\(second.path)/lost"))
  }

  @Test(arguments: [
    ("/srv/films", "/srv/films"), ("/srv//films/", "/srv/films"), ("/", "/"),
    ("films", "HERE/films"),
    ("./films", "HERE/films"), (".", "HERE"), ("../films", "HERE/../films"),
  ])
  func `sentences have the path from the root on`(given: String, path: String) {
    let here = FileManager.default.currentDirectoryPath
    #expect(NamedDirectory(given).path == path.replacing("HERE", with: here))
  }
}
