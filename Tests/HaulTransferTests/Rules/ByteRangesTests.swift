import Testing

@testable import HaulTransfer

@Suite struct ByteRangesTests {
  @Test func `agrees with a set of offsets under random insertions`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      var ranges = ByteRanges()
      var model = Set<Int64>()
      for _ in 0..<12 {
        let start = Int64.random(in: 0..<40, using: &generator)
        let end = start + Int64.random(in: 0..<9, using: &generator)
        ranges.insert(start..<end)
        model.formUnion(start..<end)
        let length = Int64.random(in: 0..<50, using: &generator)
        expect(ranges, equals: model, within: length)
        let probe = Int64.random(in: 0..<40, using: &generator)
        let wide = probe..<(probe + 5)
        #expect(ranges.contains(wide) == wide.allSatisfy(model.contains))
      }
      #expect(ByteRanges(ranges.description) == ranges)
    }
  }

  private func expect(_ ranges: ByteRanges, equals model: Set<Int64>, within length: Int64) {
    #expect(Set(ranges.ranges.flatMap { Array($0) }) == model)
    #expect(ranges.count == Int64(model.count))
    #expect(ranges.end == (model.max().map { $0 + 1 } ?? 0))
    #expect(ranges.prefixEnd == (0...).first { !model.contains($0) })
    #expect(
      Set(ranges.missing(within: length).flatMap { Array($0) })
        == Set(0..<length).subtracting(model))
    #expect(
      zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
  }

  @Test(arguments: [
    ("{}", "{}"), ("{[0,4096),[8192,9000)}", "{[0,4096),[8192,9000)}"),
    ("{[5,6),[0,5)}", "{[0,6)}"), ("{[0,9223372036854775807)}", "{[0,9223372036854775807)}"),
    ("{[0,0)}", nil), ("{[2,1)}", nil), ("{[0,1],[2,3)}", nil), ("{(0,1)}", nil), ("", nil),
    ("{", nil), ("{}x", nil), ("{[0,1)", nil), ("{[0,1),}", nil), ("{[0,1)} ", nil),
    ("{[,1)}", nil), ("{[-1,1)}", nil), ("{[0,9223372036854775808)}", nil),
  ])
  func `reads multirange literals`(_ text: String, _ normal: String?) {
    #expect(ByteRanges(text)?.description == normal)
  }
}
