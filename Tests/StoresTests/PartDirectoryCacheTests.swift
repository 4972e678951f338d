import HaulTransfer
import TestSupport
import Testing

@testable import Stores

struct PartDirectoryCacheTests {
  /// Somebody takes the directory away: jobs fail until the store is told to forget it, then it is made anew.
  @Test func `a directory of part files is opened once, and anew where it is forgotten`()
    async throws
  {
    let directory = try TemporaryDirectory()
    _ = try Store.initialise(NamedDirectory(directory.path))
    let store = try Store(StoreMount(name: "main", directory: directory.path))
    let parts = try await store.parts(pool: "p", job: 1)
    _ = try parts.create("1.1")
    try parts.remove("1.1")
    Store.removeEmptyParts(of: "p", below: store.root)

    let sameParts = try await store.parts(pool: "p", job: 2)
    #expect(throws: TransferError.self) { try sameParts.create("2.1") }
    store.shards.forget()
    let newParts = try await store.parts(pool: "p", job: 2)
    _ = try newParts.create("2.1")
    #expect(try newParts.names(startingWith: "2.") == ["2.1"])
  }
}
