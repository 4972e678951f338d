import Glibc
import TestSupport
import Testing

/// Two `haul get` at the same time in one directory.
@Suite(.serialized) struct GetTogetherTests {
  /// The one that ends first leaves marker and server to the other.
  @Test func `both bring what they were asked for`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let first = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(first)
    let second = try await place.get(file.origin.url("/small/a"), file.origin.url("/small/b"))
    #expect(second.exit == .code(0))
    #expect(try FileTree.files(below: place.directory + "/.haul").contains("store.json"))
    file.gate.open()
    #expect(try await first.exit() == .code(0))
    #expect(try file.firstDifference(in: place.directory) == nil)
    #expect(try place.files() == ["a", "b", "file"])
    try await place.serverGone()
  }

  @Test func `who asks for a file that another downloads is told so`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let first = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(first)
    let second = try await place.get(file.origin.url("/small/a"), file.origin.url("/file"))
    #expect(second.exit == .code(75))
    #expect(second.said.last?.contains("is downloading \"file\" now") == true)
    #expect(second.said.last?.contains("Wait until this worker has finished, or stop it.") == true)
    file.gate.open()
    #expect(try await first.exit() == .code(0))
    // All or nothing: the other line of the second was not brought.
    #expect(try place.files() == ["file"])
    #expect(try file.firstDifference(in: place.directory) == nil)
    try await place.serverGone()
  }

  /// The first dies while the second works; the server is the second's then.
  @Test func `the server outlives the one that started it`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let starter = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(starter)
    let other = try GatedFile()
    let second = try place.start([other.origin.url("/file")], to: place.path("other"), log: "debug")
    _ = try await other.checkpoint(second)
    starter.signal(SIGKILL)
    #expect(try await starter.exit() == .signal(SIGKILL))
    other.gate.open()
    #expect(try await second.exit() == .code(0))
    #expect(try other.firstDifference(in: place.path("other")) == nil)
    try await place.serverGone()
  }
}
