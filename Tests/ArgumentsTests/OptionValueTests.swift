import Testing

@testable import Arguments
@testable import HaulSystem

struct OptionValueTests {
  @Test(arguments: [
    ("0", 0), ("90s", 90_000), ("5m", 300_000), ("1h30m", 5_400_000), ("250ms", 250),
    ("1d2h3m4s5ms", 93_784_005), ("0s", 0),
  ])
  func `a duration is numbers with units`(text: String, milliseconds: Int) {
    #expect(Duration(argument: text) == .milliseconds(milliseconds))
  }

  @Test func `bounds stand before the examples`() {
    #expect(
      Duration.expected(within: .seconds(1)...(.seconds(86_400)))
        == "a duration from 1s to 1d, such as 90s or 1h30m")
    #expect(Int.expected(within: 1...10) == "a whole number from 1 to 10")
  }

  @Test(arguments: [
    "", "5", "s", "1.5s", "-1s", "1m1h", "1s1s", "1S", "5 m", "1h30", "99999999999999999999s",
    "9223372036854775807d", "٣s",
  ])
  func `anything else is not a duration`(text: String) {
    #expect(Duration(argument: text) == nil)
  }

  @Test(arguments: ["0", "90ms", "1m30s", "1d2h3m4s5ms"])
  func `a duration is spelled as it is read`(text: String) {
    #expect(Duration(argument: text)?.argument == text)
  }

  @Test(arguments: [
    ("0", 0, "0"), ("7", 7, "7"), ("512B", 512, "512"), ("64MiB", 64 << 20, "64MiB"),
    ("1gb", 1_000_000_000, "1GB"), ("1024kib", 1 << 20, "1MiB"), ("3TiB", 3 << 40, "3TiB"),
  ])
  func `a size has units of 1024 or 1000`(text: String, bytes: Int64, spelled: String) {
    #expect(ByteCount(argument: text) == ByteCount(bytes: bytes))
    #expect(ByteCount(bytes: bytes).argument == spelled)
  }

  @Test(arguments: [("2M", "2MiB"), ("500k", "500KiB"), ("1G", "1GiB"), ("2Mi", "2MiB")])
  func `a size may be written as other programs write it`(text: String, spelled: String) {
    #expect(ByteCount(argument: text)?.argument == spelled)
  }

  @Test(arguments: ["", "1I", "1.5GiB", "-1", "MiB", "1 MiB", "1MM", "9999999999TiB"])
  func `anything else is not a size`(text: String) {
    #expect(ByteCount(argument: text) == nil)
  }

  @Test(arguments: [
    ("concurency", "concurrency"), ("qeueu", "queue"), ("drian", "drain"), ("x", nil),
    ("jbos", "jobs"), ("entirely", nil), ("con", "concurrency"), ("job", "jobs"), ("jibe", nil),
    ("foo.example.org", nil), ("mirorr.exmaple.org", "mirror.example.org"),
  ])
  func `the nearest name is suggested`(word: String, name: String?) {
    let names = ["concurrency", "queue", "drain", "jobs", "bar.example.org", "mirror.example.org"]
    #expect(Suggestion.nearest(to: word, among: names) == name)
  }
}
