import TestSupport
import Testing

@testable import Terminal

struct ProgressRegionTests {
  private let layout = ProgressLayout(hasColors: true)
  private let plain = ProgressLayout()

  /// As many downloads as wanted, at so many bytes of 100 each.
  private func frame(_ count: Int, bytes: Int64) -> ProgressFrame {
    ProgressFrame(
      transfers: (0..<count).map {
        .init(name: "directory/動画-\($0).bin", bytes: bytes, total: 100, rate: 10)
      }, all: count, bytes: bytes * Int64(count))
  }

  @Test
  func `a frame takes the place of the one before; messages stay above; the end leaves nothing`()
    async throws
  {
    let pane = try await Pane(columns: 80, rows: 10)
    var region = ProgressRegion()
    let draw = { (region: inout ProgressRegion, frame: ProgressFrame, messages: [String]) in
      pane.write(
        region.update(
          layout.lines(frame, columns: 80, rows: 10), messages: messages, columns: 80))
      return plain.lines(frame, columns: 80, rows: 10)
    }
    pane.write("before\n")
    var shown = draw(&region, frame(3, bytes: 10), [])
    try await pane.expect(["before"] + shown, "the first frame")
    shown = draw(&region, frame(5, bytes: 100), [])
    try await pane.expect(["before"] + shown, "a higher frame")
    let wide = String(repeating: "x", count: 80)
    shown = draw(&region, frame(2, bytes: 7), [wide, "second"])
    try await pane.expect(["before", wide, "second"] + shown, "a lower frame below messages")
    pane.write(region.update([], columns: 80))
    try await pane.expect(["before", wide, "second"], "the end")
  }

  @Test func `nothing is written when nothing changes`() {
    var region = ProgressRegion()
    let lines = plain.lines(frame(2, bytes: 1), columns: 80, rows: 24)
    #expect(region.update(lines, columns: 80) != "")
    #expect(region.update(lines, columns: 80) == "")
    #expect(region.update(lines, columns: 79) != "")
  }

  @Test func `a frame taller than the terminal scrolls nothing away`() async throws {
    let pane = try await Pane(columns: 80, rows: 6)
    var region = ProgressRegion()
    for bytes in 1...20 {
      pane.write(
        region.update(
          layout.lines(frame(30, bytes: Int64(bytes)), columns: 80, rows: 6), columns: 80))
    }
    try await pane.expect(plain.lines(frame(30, bytes: 20), columns: 80, rows: 6), "the last frame")
  }

  @Test(arguments: [20, 33, 50, 79, 120])
  func `a terminal that changes its width keeps no wrapped rubbish`(columns: Int) async throws {
    let pane = try await Pane(columns: 80, rows: 24)
    let before = (1...15).map { "before \($0)" }
    pane.write(before.map { $0 + "\n" }.joined())
    var region = ProgressRegion()
    pane.write(
      region.update(layout.lines(frame(4, bytes: 33), columns: 80, rows: 24), columns: 80))
    try await pane.expect(
      before + plain.lines(frame(4, bytes: 33), columns: 80, rows: 24), "the first frame")
    try await pane.screen.resize(columns: columns, rows: 24)
    let next = frame(4, bytes: 66)
    pane.write(region.update(layout.lines(next, columns: columns, rows: 24), columns: columns))
    let wanted = plain.lines(next, columns: columns, rows: 24)
    // The wrapped lines may have pushed what stood above out of sight, but not more of it than they took.
    try await pane.screen.wait(for: "the frame at \(columns)") { content in
      content.rows.suffix(wanted.count) == wanted
        && content.rows.dropLast(wanted.count) == before.suffix(content.rows.count - wanted.count)
        && content.cursorRow == content.rows.count
    }
  }

  @Test(arguments: [3, 5, 12, 40])
  func `a terminal that changes its height shows what fits`(rows: Int) async throws {
    let pane = try await Pane(columns: 80, rows: 24)
    var region = ProgressRegion()
    pane.write(region.update(layout.lines(frame(9, bytes: 33), columns: 80, rows: 24), columns: 80))
    try await pane.expect(
      plain.lines(frame(9, bytes: 33), columns: 80, rows: 24), "the first frame")
    try await pane.screen.resize(columns: 80, rows: rows)
    let next = frame(9, bytes: 66)
    pane.write(region.update(layout.lines(next, columns: 80, rows: rows), columns: 80))
    try await pane.expect(plain.lines(next, columns: 80, rows: rows), "the frame of \(rows) rows")
  }
}
