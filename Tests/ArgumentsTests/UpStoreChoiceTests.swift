import Testing

@testable import LocalPool

struct UpStoreChoiceTests {
  private typealias Instance = UpStoreChoice.Instance

  /// Instances 1, 2, … at `/1`, `/2`, … with so many interrupted jobs, and the markers that are where they should be; one
  /// at `downloads` is here.
  private static func store(interrupted: [Int], there markers: [String: String]) -> UpStoreChoice {
    let instances = interrupted.enumerated().map { index, jobs in
      Instance(
        id: index + 1, marker: "m\(index + 1)", directory: "/\(index + 1)", interrupted: jobs)
    }
    return UpStoreChoice(instances: instances) { markers[$0] }
  }

  @Test(
    arguments: [
      // The first time, and where all is gone without a trace of work.
      ([], [:], "downloads"), ([0, 0], [:], "downloads"),
      // Served before, and still there: the latest, but before that one with interrupted work.
      ([0], ["/1": "m1"], "/1"), ([0, 0], ["/1": "m1", "/2": "m2"], "/2"),
      ([1, 0], ["/1": "m1", "/2": "m2"], "/1"),
      // Another disk is mounted there now, or the directory was made anew.
      ([0, 0], ["/1": "m1", "/2": "m9"], "/1"),
      // What is here is of the store, at its place or moved; or it is somebody else's.
      ([1, 0], ["/1": "m1", "downloads": "m2"], "downloads"),
      ([0], ["/1": "m1", "downloads": "m9"], "/1"),
    ] as [([Int], [String: String], String)])
  func `without a word of its user it serves what it served`(
    interrupted: [Int], markers: [String: String], directory: String
  ) throws {
    #expect(try Self.store(interrupted: interrupted, there: markers).directory() == directory)
  }

  @Test func `interrupted work that is gone with its directory is not begun anew unasked`() {
    #expect(throws: StandingStoreGone(directory: "/1", interrupted: 2)) {
      try Self.store(interrupted: [2, 0], there: ["/2": "m9"]).directory()
    }
  }

  @Test func `interrupted work elsewhere is told of`() {
    let store = Self.store(interrupted: [2, 0, 1], there: [:])
    #expect(store.others(besides: "m3").map(\.id) == [1])
    #expect(store.others(besides: "m9").map(\.id) == [1, 3])
  }
}
