import JobModel
import JobQueue
import Terminal
import Testing

@testable import Top

/// Rows that come, move and go under the cursor.
struct TopListTests {
  /// A list as letters: `r` runs, `c` has completed, `f` has failed. `1r 2r` are the jobs 1 and 2.
  private func rows(_ text: String) throws -> [TopRow] {
    let states: [Character: JobState] = ["r": .running, "c": .completed, "f": .failed]
    return try text.split(separator: " ").map { word in
      let state = try #require(word.last.flatMap { states[$0] })
      let error = state == .failed ? "http_4xx" : nil
      return try Sample.job(
        try #require(Int64(word.dropLast())), state, error: error
      ).topRow
    }
  }

  private func page(_ rows: String, left: String = "") throws -> TopPage {
    TopPage(try self.rows(rows), left: try self.rows(left))
  }

  private func text(_ list: TopList) -> String {
    list.shown.compactMap { row in
      guard case .job(let job) = row.subject else { return nil }
      return "\(job.id)\(job.state?.rawValue.prefix(1) ?? "")"
    }.joined(separator: " ")
  }

  /// What stands there after the second page: the rows of `before`, those of `after`, those that left, and the list.
  static let merges: [(before: String, after: String, left: String, list: String)] = [
    ("1r 2r 3r", "1r 3r", "2c", "1r 2c 3r"), ("1r 2r 3r", "2r 3r", "1f", "1f 2r 3r"),
    ("1r 2r 3r", "1r 2r", "3c", "1r 2r 3c"), ("1r 2r 3r", "", "1c 2c 3c", "1c 2c 3c"),
    // Newer ones above, and below.
    ("3r 2r 1r", "5r 4r 3r 1r", "2c", "5r 4r 3r 2c 1r"),
    ("1r 2r 3r", "2r 3r 4r", "1c", "1c 2r 3r 4r"),
    // One that left with nothing around it.
    ("1r", "9r", "1c", "9r 1c"),
    // One that is read again did not leave.
    ("1r 2r", "1r 2r", "2c", "1r 2r"),
    // Of many the latest.
    ("1r 2r 3r 4r 5r 6r 7r", "", "1c 2c 3c 4c 5c 6c 7c", "1c 4c 5c 6c 7c"),
  ]

  @Test(arguments: merges)
  func `a job that ends stays where it stood`(
    before: String, after: String, left: String, list: String
  ) throws {
    var shown = TopList()
    shown.load(try page(before), at: .sample)
    shown.load(try page(after, left: left), at: .sample + .seconds(1))
    #expect(text(shown) == list)
  }

  @Test func `its row goes after five seconds, with or without another look`() throws {
    for isRead in [true, false] {
      var list = TopList()
      list.load(try page("1r 2r"), at: .sample)
      list.load(try page("2r", left: "1f"), at: .sample + .seconds(1))
      // A second notice does not start the time again.
      list.load(try page("2r", left: "1f"), at: .sample + .seconds(3))
      list.expire(at: .sample + .milliseconds(5900))
      #expect(text(list) == "1f 2r")
      if isRead {
        list.load(try page("2r"), at: .sample + .seconds(6))
      } else {
        list.expire(at: .sample + .seconds(6))
      }
      #expect(text(list) == "2r")
    }
  }

  @Test func `one that runs again has not ended`() throws {
    var list = TopList()
    list.load(try page("1r 2r"), at: .sample)
    list.load(try page("2r", left: "1f"), at: .sample + .seconds(1))
    list.load(try page("2r 1r"), at: .sample + .seconds(2))
    #expect(text(list) == "2r 1r")
    list.expire(at: .sample + .seconds(9))
    #expect(text(list) == "2r 1r")
  }

  /// Where the cursor is after rows come, and whether a destructive key acts so long after that. It was on the second row of `before`.
  static let moves: [(before: String, after: String, left: String, job: Int64, isAtOnce: Bool)] = [
    ("1r 2r 3r", "1r 2r 3r", "", 2, true),
    // It moves with its job.
    ("1r 2r 3r", "9r 8r 2r 3r", "", 2, true), ("1r 2r 3r", "3r 2r 1r", "", 2, true),
    // Another job takes the place.
    ("1r 2r 3r", "1r 3r", "", 3, false), ("1r 2r", "1r", "", 1, false),
    // The job has another state.
    ("1r 2r 3r", "1r 2c 3r", "", 2, false), ("1r 2r 3r", "1r 3r", "2c", 2, false),
    // Other rows change.
    ("1r 2r 3r", "1c 2r", "3f", 2, true),
  ]

  @Test(arguments: moves)
  func `the cursor stays on its job, and a row that has just changed takes no destructive key`(
    before: String, after: String, left: String, job: Int64, isAtOnce: Bool
  ) throws {
    for key in "pc" {
      var model = TopModel()
      model.load(try page(before), of: .running, at: .sample)
      _ = model.press(.down)
      model.load(try page(after, left: left), of: .running, at: .sample + .seconds(5))
      #expect(model.list.selected?.subject.jobID == job)
      let request = model.press(.character(key), at: .sample + .milliseconds(5999))
      let warning = "this row has just changed. Press \(key) again to confirm"
      #expect((model.message?.text == warning) == !isAtOnce)
      #expect(isAtOnce || request == nil && model.mode == .list)
      // A second later it is meant.
      _ = model.press(.character("n"), at: .sample + .seconds(6))
      _ = model.press(.character(key), at: .sample + .seconds(6))
      #expect(model.message?.text != warning)
    }
  }

  @Test func `keys that destroy nothing act at once, and so does any after the cursor was moved`()
    throws
  {
    var list = TopModel()
    list.identify(PoolContext(database: "pool", minute: "", may: Sample.everything))
    list.load(try page("1r 2r 3r"), of: .running, at: .sample)
    list.load(try page("2r 3r"), of: .running, at: .sample)
    var model = list
    #expect(model.press(.character("+"), at: .sample) != nil)
    model = list
    _ = model.press(.down, at: .sample)
    #expect(model.press(.character("p"), at: .sample) != nil)
  }

  @Test func `the row that goes last is the one under the cursor`() throws {
    var list = TopList()
    list.load(try page("1r 2r 3r 4r 5r 6r 7r"), at: .sample)
    list.move(2)
    list.load(try page("", left: "1c 2c 3c 4c 5c 6c 7c"), at: .sample + .seconds(1))
    #expect(text(list) == "3c 4c 5c 6c 7c")
    #expect(list.selected?.subject.jobID == 3)
  }
}
