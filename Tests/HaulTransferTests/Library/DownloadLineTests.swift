import Testing

@testable import HaulTransfer

/// Who begins when, without anything that downloads.
struct DownloadLineTests {
  private func admitted(_ line: inout DownloadLine<Int>) -> [Int] {
    var all: [Int] = []
    while let next = line.next() { all.append(next) }
    return all
  }

  @Test func `the highest priority first, then the order of arrival`() {
    var line = DownloadLine<Int>(limit: 2)
    for (member, priority) in [(1, 0), (2, 0), (3, 5), (4, -1), (5, 5)] {
      line.add(member, host: "h", priority: priority)
    }
    #expect(admitted(&line) == [3, 5])
    line.remove(3)
    #expect(admitted(&line) == [1])
    line.add(4, host: "h", priority: 9)
    line.limit = 3
    #expect(admitted(&line) == [4])
    line.limit = 1
    line.remove(1)
    line.remove(5)
    #expect(admitted(&line) == [])
    line.remove(4)
    #expect(admitted(&line) == [2])
    line.remove(2)
    #expect(admitted(&line) == [])
  }

  /// Whoever came first goes first among equals, also after a change.
  @Test func `a change of the priority keeps the order of arrival`() {
    var line = DownloadLine<Int>(limit: 0, limitPerHost: 1)
    for member in 1...4 { line.add(member, host: "h\(member)", priority: 0) }
    line.prioritize(1, 0)
    line.prioritize(4, 1)
    line.prioritize(3, 1)
    line.prioritize(5, 1)
    line.limit = 9
    #expect(admitted(&line) == [3, 4, 1, 2])
    line.prioritize(3, 2)
    #expect(admitted(&line) == [])
  }

  @Test func `changes of priorities take no room`() {
    var line = DownloadLine<Int>(limit: 0)
    for member in 1...4 { line.add(member, host: "h", priority: 0) }
    for change in 1...10_000 { line.prioritize(1 + change % 4, change) }
    #expect(line.places < 100)
    line.limit = 4
    #expect(admitted(&line) == [1, 4, 3, 2])
  }

  @Test func `a full host lets those of others pass`() {
    var line = DownloadLine<Int>(limit: 10, limitPerHost: 1)
    for member in 1...6 {
      line.add(member, host: member.isMultiple(of: 2) ? "even" : "odd", priority: 0)
    }
    #expect(admitted(&line) == [1, 2])
    // It waits behind 1, and leaves.
    line.remove(3)
    line.remove(1)
    #expect(admitted(&line) == [5])
    line.limitPerHost = 2
    #expect(admitted(&line) == [4])
    line.limitPerHost = nil
    #expect(admitted(&line) == [6])
  }

  @Test func `while it is suspended nobody begins`() {
    var line = DownloadLine<Int>(limit: 1)
    line.isSuspended = true
    line.add(1, host: "", priority: 0)
    #expect(line.next() == nil)
    line.isSuspended = false
    #expect(line.next() == 1)
  }

  /// The same steps on the line and on a list that is searched from its beginning.
  @Test(arguments: 0..<50)
  func `random steps agree with a plain list`(_ seed: Int) {
    var random = SplitMix(state: UInt64(seed))
    var line = DownloadLine<Int>(limit: 3, limitPerHost: 2)
    var (limit, perHost) = (3, 2 as Int?)
    var waiting: [(member: Int, host: String, priority: Int)] = []
    var running: [(member: Int, host: String)] = []
    for step in 0..<300 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        let host = "h\(Int.random(in: 0..<3, using: &random))"
        let priority = Int.random(in: -1...1, using: &random)
        line.add(step, host: host, priority: priority)
        waiting.append((step, host, priority))
      case 5..<8:
        let all = waiting.map(\.member) + running.map(\.member)
        guard let member = all.randomElement(using: &random) else { break }
        line.remove(member)
        waiting.removeAll { $0.member == member }
        running.removeAll { $0.member == member }
      case 8:
        limit = Int.random(in: 1...5, using: &random)
        line.limit = limit
      default:
        perHost = Bool.random(using: &random) ? nil : Int.random(in: 1...3, using: &random)
        line.limitPerHost = perHost
      }
      var expected: [Int] = []
      while running.count < limit {
        let order = waiting.enumerated().sorted {
          ($1.element.priority, $0.offset) < ($0.element.priority, $1.offset)
        }
        let next = order.first { place in
          running.count { $0.host == place.element.host } < perHost ?? .max
        }
        guard let next else { break }
        expected.append(next.element.member)
        running.append((next.element.member, next.element.host))
        waiting.remove(at: next.offset)
      }
      #expect(admitted(&line) == expected, "step \(step)")
    }
  }
}
