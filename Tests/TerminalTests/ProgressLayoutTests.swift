import Foundation
import HaulSystem
import TestSupport
import Testing

@testable import Terminal

/// A file of this folder's Golden: what a frame looks like.
private func golden(_ name: String) throws -> [String] {
  let file = repositoryRoot.appending(path: "Tests/TerminalTests/Golden/\(name)")
  let text = try String(contentsOf: file, encoding: .utf8)
  return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
}

extension ProgressFrame {
  /// All kinds of names, lengths and rates.
  static let mixed = ProgressFrame(
    transfers: [
      .init(name: "debian-12.7.0.iso", bytes: 1 << 30, total: 4 << 30, rate: 12_900_000),
      .init(
        name: "archive.example.org/pool/main/l/linux/linux-source-6.1_6.1.112-1_all.deb",
        bytes: 139_000_000, total: 139_000_001, rate: 380_000),
      .init(
        name:
          "a-name-that-is-far-too-long-to-be-shown-in-a-terminal-of-the-usual-width-v1.2.tar.zst",
        bytes: 0, total: 700_000, rate: 0),
      .init(name: "動画/とても長い名前のファイル-第一巻-最終版.zip", bytes: 5 << 20, total: 9 << 20, rate: 1 << 20),
      .init(name: "cafe\u{301} 🚀 👍🏽.bin", bytes: 123_456, total: nil, rate: 61_728),
      .init(name: "evil\u{1b}[2J\u{202e}\n.txt", bytes: 1000, total: 1000, rate: 10),
      .init(name: "stream", bytes: 0, total: nil, rate: 0),
    ],
    done: 31, failed: 2, all: 1200, bytes: 25 << 30, rate: 14_400_000, timeLeft: .seconds(7_322))
}

struct ProgressLayoutTests {
  private let layout = ProgressLayout()

  @Test(arguments: [24, 40, 60, 80, 200])
  func `a frame on a terminal of that width`(columns: Int) throws {
    let lines = layout.lines(.mixed, columns: columns, rows: 24)
    #expect(try lines == golden("\(columns).txt"), "\(lines.joined(separator: "\n"))")
  }

  @Test func `no line reaches the last column, and the cursor keeps a row`() {
    for columns in 1...220 {
      for rows in [1, 2, 3, 5, 24] {
        let lines = layout.lines(.mixed, columns: columns, rows: rows)
        #expect(lines.count < rows, "\(columns)x\(rows)")
        for line in lines {
          #expect(DisplayWidth.of(line) < columns, "\(columns)x\(rows): \(line)")
          #expect(!line.hasSuffix(" "), "\(columns)x\(rows): \(line)")
        }
      }
    }
  }

  @Test func `files of one name do not look alike, nor are their lines too long`() {
    let frame = ProgressFrame(
      transfers: ["one", "two"].flatMap { host in
        ["slow/amd64/netinst.iso", "slow/arm64/netinst.iso", "same.iso-855a203435a89d12"].map {
          .init(name: "\(host).example.org/\($0)", bytes: 1, total: 2, rate: 1)
        }
      }, done: 0, failed: 0, all: 6, bytes: 6, rate: 6)
    let lines = layout.lines(frame, columns: 80, rows: 24)
    #expect(Set(lines).count == 7, "\(lines.joined(separator: "\n"))")
    for columns in 1...120 {
      for line in layout.lines(frame, columns: columns, rows: 24) {
        #expect(DisplayWidth.of(line) < columns, "\(columns): \(line)")
      }
    }
  }

  @Test func `that some failed is the last thing to go`() {
    let frame = ProgressFrame(
      done: 123_456, failed: 12_345, cancelled: 678, all: 1_000_000, bytes: 25 << 30,
      rate: 14_400_000,
      timeLeft: .seconds(7_322))
    for columns in 34...220 {
      let total = layout.lines(frame, columns: columns, rows: 24).last ?? ""
      #expect(total.contains("123456"), "\(columns): \(total)")
      #expect(total.contains("12345 failed"), "\(columns): \(total)")
    }
    for columns in [18, 25, 33] {
      #expect(layout.lines(frame, columns: columns, rows: 24).last?.contains("failed") == true)
    }
  }

  @Test func `nothing but a bar and its text changes with colours and without Unicode`() throws {
    let coloured = ProgressLayout(hasColors: true).lines(.mixed, columns: 80, rows: 24)
    let bare = coloured.map { $0.replacing(/\u{1b}\[[0-9]+m/, with: "") }
    #expect(try bare == golden("80.txt"))
    #expect(coloured != bare)
    let ascii = ProgressLayout(hasUnicode: false).lines(.mixed, columns: 80, rows: 24)
    #expect(try ascii == golden("80-ascii.txt"))
  }

  @Test func `names steer no terminal`() {
    for line in ProgressLayout(hasColors: false).lines(.mixed, columns: 200, rows: 24) {
      #expect(!line.unicodeScalars.contains(where: SafeText.isUnsafe))
    }
  }

  @Test func `of more downloads than rows the largest are shown, in their order`() throws {
    let names = { (rows: Int) in
      layout.lines(.mixed, columns: 80, rows: rows).map { $0.split(separator: " ")[0] }
    }
    #expect(
      names(6) == [
        "debian-12.7.0.iso", "linux-sourc…12-1_all.deb", "とても長い名…最終版.zip", "…", "31/1200,",
      ])
    #expect(layout.lines(.mixed, columns: 80, rows: 3)[0] == "7 running")
    #expect(layout.lines(.mixed, columns: 80, rows: 2).count == 1)
    #expect(layout.lines(.mixed, columns: 80, rows: 1) == [])
  }

  @Test func `blank lines keep the total where it was`() {
    let one = ProgressFrame(transfers: [.init(name: "a", bytes: 0, total: nil, rate: 0)])
    // What runs stays beside the total.
    #expect(layout.lines(one, columns: 80, rows: 24, height: 3)[...1] == ["", ""])
    #expect(layout.lines(one, columns: 80, rows: 24, height: 3).count == 4)
    #expect(layout.lines(one, columns: 80, rows: 4, height: 9).count == 3)
  }

  @Test(arguments: [
    (ProgressFrame(), "0 files                                                 0 B           -"),
    (
      // Files without a byte.
      ProgressFrame(done: 1, all: 1, bytes: 0, total: 0),
      "1 of 1 file       ━━━━━━━━━━━━━━━━━━━━━ 100%            0 B           -"
    ),
    (
      ProgressFrame(done: 1, all: 1, bytes: 5, total: 5),
      "1 of 1 file       ━━━━━━━━━━━━━━━━━━━━━ 100%          5/5 B           -"
    ),
    (
      // Nothing has ended, but half of one of two is there.
      ProgressFrame(
        transfers: [.init(name: "a", bytes: 5, total: 10, rate: 0)], all: 2, bytes: 5, rate: 1),
      "0 of 2 files      ━━━━━────────────────  25%            5 B       1 B/s"
    ),
    (
      // So many files have been counted that the bar goes on with them.
      ProgressFrame(
        transfers: [.init(name: "a", bytes: 5, total: 10, rate: 0)], done: 1, all: 2, bytes: 6,
        total: 11, countsFiles: true),
      "1 of 2 files      ━━━━━━━━━━━━━━━╸─────  75%         6/11 B           -"
    ),
    (
      // Nothing runs, and half of one of two waits.
      ProgressFrame(all: 2, parts: 0.5, bytes: 5),
      "0 of 2 files      ━━━━━────────────────  25%            5 B           -"
    ),
  ])
  func `the total by bytes, or else by files and parts of them`(
    frame: ProgressFrame, line: String
  ) {
    #expect(layout.lines(frame, columns: 80, rows: 24).last == line)
  }
}

struct ProgressStateTests {
  private let start = ContinuousClock.now

  @Test func `a rate is the mean of the last seconds`() {
    var meter = RateMeter()
    #expect(meter.rate == 0)
    #expect(meter.timeLeft(for: 100) == nil)
    meter.add(0, at: start)
    meter.add(50, at: start + .milliseconds(100))
    #expect(meter.rate == 0)
    meter.add(100, at: start + .seconds(1))
    #expect(meter.rate == 100)
    for second in 2...30 { meter.add(100, at: start + .seconds(second)) }
    #expect(meter.rate == 0)
    meter.add(1100, at: start + .seconds(31))
    #expect(meter.rate == 100)
    #expect(meter.timeLeft(for: 200) == .seconds(2))
  }

  @Test func `samples far apart count from the one before`() {
    var meter = RateMeter()
    meter.add(0, at: start)
    meter.add(1000, at: start + .seconds(20))
    meter.add(5000, at: start + .seconds(40))
    #expect(meter.rate == 200)
  }

  @Test func `the height grows at once and shrinks a line a second`() {
    var height = SmoothedHeight()
    height.settle(3, at: start)
    height.settle(5, at: start + .milliseconds(100))
    #expect(height.lines == 5)
    height.settle(2, at: start + .milliseconds(900))
    #expect(height.lines == 5)
    height.settle(2, at: start + .milliseconds(1100))
    height.settle(2, at: start + .milliseconds(1200))
    #expect(height.lines == 4)
    height.settle(2, at: start + .milliseconds(2200))
    height.settle(2, at: start + .milliseconds(3300))
    #expect(height.lines == 2)
  }

  @Test func `a line for a log says it all`() {
    #expect(
      ProgressFrame.mixed.sentence
        == "31 of 1200 files, 2 failed, 7 running, 25.0 GiB, 13.7 MiB/s, 2h02m left")
    let idle = ProgressFrame(done: 1, cancelled: 1, all: 3, bytes: 10)
    #expect(idle.sentence == "1 of 3 files, 1 cancelled, 10 B")
    let over = ProgressFrame(done: 1, failed: 1, cancelled: 1, all: 3, bytes: 10, rate: 5)
    #expect(over.sentence == "1 of 3 files, 1 failed, 1 cancelled, 10 B")
  }

  @Test func `a region is for terminals that can move the cursor`() {
    #expect(ProgressDisplay.Mode(for: Screen(width: 80, height: 24), isQuiet: false) == .live)
    #expect(ProgressDisplay.Mode(for: Screen(width: 80), isQuiet: false) == .plain)
    #expect(ProgressDisplay.Mode(for: Screen(width: nil), isQuiet: false) == .plain)
    #expect(ProgressDisplay.Mode(for: Screen(width: 80, height: 24), isQuiet: true) == .quiet)
  }
}
