import Foundation
import Glibc
import TestSupport
import Testing

@testable import HaulTransfer

/// What stands where a file is to go, put there by somebody else, and names that are none.
@Suite(.timeLimit(.minutes(5)))
struct HostilePathTests {
  private let bench: DownloadBench
  private let outside: TemporaryDirectory
  private let origin: OriginServer

  init() throws {
    bench = try DownloadBench()
    outside = try TemporaryDirectory()
    try outside.write("mine", to: "target")
    origin = try OriginServer { _, reply in try reply.answer("Content-Length: 5", "12345") }
  }

  private func download(_ name: String, _ policy: CollisionPolicy = .fail) async throws -> String {
    var options = DownloadOptions()
    options.ifExists = policy
    do {
      let path = "\(bench.directory.path)/\(name)"
      return try await bench.downloader.download(origin.url("/"), to: path, options: options).path
    } catch let error as TransferError {
      return error.errorClass.rawValue
    }
  }

  private func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// One link to a file that is there, one to a name that could be made.
  @Test(arguments: ["target", "none"], CollisionPolicy.allCases)
  func `a link under the final name is not written through`(
    _ target: String, _ policy: CollisionPolicy
  ) async throws {
    let link = bench.directory.path("a")
    symlink(outside.path(target), link)
    let result = try await download("a", policy)
    #expect(result == (policy == .fail ? "exists" : policy == .rename ? link + ".1" : link))
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == ["target"])
    #expect(text(outside.path("target")) == "mine")
    #expect(try bench.files == (policy == .rename ? ["a", "a.1"] : ["a"]))
    if policy == .replace { #expect(text(link) == "12345") }
    if policy == .rename { #expect(text(link + ".1") == "12345") }
  }

  /// The directory is opened once: what takes its name later is not where the file goes.
  @Test func `a directory that becomes a link after it was opened`() throws {
    let scratch = try Scratch()
    let parts = try scratch.parts()
    let path = try RelativePath("d/f")
    let part = try scratch.part("1-1", "new")
    let destination = try scratch.destination()
    let parent = try destination.makeParent(of: path)
    rename(scratch.store + "/d", scratch.store + "/old")
    symlink(outside.path, scratch.store + "/d")
    _ = try destination.place(
      part: part.name, inode: part.inode, of: parts, at: path, in: parent, policy: .replace)
    #expect(scratch.result("old/f") == "new")
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == ["target"])
    let error = #expect(throws: TransferError.self) { try destination.makeParent(of: path) }
    #expect(error?.errorClass == .pathConflict)
  }

  @Test(arguments: [
    String(repeating: "x", count: 255), String(repeating: "ö", count: 127), "a%00b", "a b", "...",
  ])
  func `a name of up to 255 bytes is taken as it is`(_ name: String) async throws {
    #expect(try await download(name) == bench.directory.path(name))
    #expect(try bench.files == [name])
  }

  @Test(arguments: [
    String(repeating: "x", count: 256), String(repeating: "x", count: 300),
    String(repeating: "ö", count: 128), "", ".", "..", "../..", "a\0b", "a\nb", "a\u{1b}[2J",
    "a\u{7f}", ".haul",
  ])
  func `a name that is none is refused before anything is asked`(_ name: String) async throws {
    #expect(try await download(name) == "path_conflict")
    #expect(try bench.files.isEmpty)
    #expect(origin.log.value.connections == 0)
  }
}
