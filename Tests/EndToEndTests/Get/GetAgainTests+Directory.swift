import Foundation
import Glibc
import TestSupport
import Testing

/// What other lists and moved directories make of an unfinished file.
extension GetAgainTests {
  @Test func `another list leaves the unfinished file alone, and the first list finishes it`()
    async throws
  {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let run = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(run)
    try await interrupt(run, by: .interrupt)

    let parts = try FileTree.files(below: place.directory + "/.haul")
    #expect(try await place.get(file.origin.url("/small/a")).exit == .code(0))
    #expect(try FileTree.files(below: place.directory + "/.haul") == parts)
    #expect(file.origin.log.value.exchanges.count { $0.request.path == "/file" } == 1)

    file.gate.open()
    #expect(try await place.get(file.origin.url("/file")).exit == .code(0))
    #expect(try file.firstDifference(in: place.directory) == nil)
    #expect(try place.files() == ["a", "file"])
    #expect(file.origin.log.value.exchanges.last?.status == 206)
  }

  @Test func `a directory that was moved meanwhile is gone on with`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let run = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(run)
    try await interrupt(run, by: .interrupt)
    let moved = place.path("moved")
    try FileManager.default.moveItem(atPath: place.directory, toPath: moved)
    file.gate.open()
    #expect(try await place.get(file.origin.url("/file"), to: moved).exit == .code(0))
    #expect(try file.firstDifference(in: moved) == nil)
    #expect(try FileTree.files(below: moved) == ["file"])
    #expect(file.origin.log.value.exchanges.last?.status == 206)
  }

  @Test func `without .haul an interrupted file starts anew`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let run = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(run)
    try await interrupt(run, by: .interrupt)
    try FileManager.default.removeItem(atPath: place.directory + "/.haul")
    file.gate.open()
    let again = try await place.get(file.origin.url("/file"))
    #expect(again.exit == .code(0))
    // Its server would have gone on.
    #expect(!again.standardError.contains { $0.contains("starting again") })
    #expect(try file.firstDifference(in: place.directory) == nil)
    #expect(try place.files() == ["file"])
  }
}
