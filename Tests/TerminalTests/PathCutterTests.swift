import Testing

@testable import Terminal

struct PathCutterTests {
  @Test func `so many that nobody compares them are cut as if alone`() {
    let paths = (0..<1001).map { "mirror-\($0).example.org/pub/index.html" }
    let cutter = PathCutter(paths, in: 20)
    #expect(paths.allSatisfy { cutter.cut($0, to: 20) == "…/pub/index.html" })
    #expect(PathCutter(paths.prefix(3), in: 20).cut(paths[1], to: 20).contains("1"))
  }

  @Test(arguments: [
    ("films/a.iso", 11, "films/a.iso"), ("films/a.iso", 10, "…/a.iso"),
    ("films/a.iso", 7, "…/a.iso"), ("films/a.iso", 6, "…a.iso"), ("films/a.iso", 5, "a.iso"),
    ("films/a.iso", 4, "a…so"), ("x/y/films/a.iso", 14, "…/films/a.iso"),
    ("films/abcdef.iso", 9, "abcd….iso"), ("films/長長長長.iso", 10, "長長長…iso"),
    ("h/measurement-1.bin-7a8063a6bf957eda", 23, "measurement…3a6bf957eda"),
    ("cafe\u{301}s/x", 5, "…/x"), ("abcdef", 2, "…f"), ("abcdef", 1, "…"), ("abcdef", 0, ""),
  ])
  func `a path alone is cut at its front, or in its name`(path: String, columns: Int, cut: String) {
    #expect(PathCutter([path], in: columns).cut(path, to: columns) == cut)
    #expect(DisplayWidth.of(cut) <= columns)
  }

  /// Paths made of a template and all pairs of texts for `{1}` and `{2}` in it.
  struct Case: Sendable, CustomTestStringConvertible {
    let template: String
    let first: [String]
    let second: [String]
    /// The first and the last of them in so many columns.
    let cuts: [Int: [String]]

    var paths: [String] {
      first.flatMap { one in
        second.map { template.replacing("{1}", with: one).replacing("{2}", with: $0) }
      }
    }

    var testDescription: String { template }
  }

  static let cases = [
    Case(
      template: "mirror-{1}.example.org/debian/pool/v{2}/linux-image.deb", first: ["a", "b"],
      second: ["1.2", "1.3"],
      cuts: [
        18: ["…a…/v1.2/linu….deb", "…b…/v1.3/linu….deb"],
        23: ["mirror-a…/v1.2/li…e.deb", "mirror-b…/v1.3/li…e.deb"],
        31: ["mirror-a…/v1.2/linux-image.deb", "mirror-b…/v1.3/linux-image.deb"],
        48: [
          "mirror-a.example.org/…/pool/v1.2/linux-image.deb",
          "mirror-b.example.org/…/pool/v1.3/linux-image.deb",
        ],
      ]),
    Case(
      template: "mirror-of-debian-{1}.downloads.example.org/debian/pool/v{2}/linux-image.deb",
      first: ["1", "2"], second: ["1.2", "1.3"],
      cuts: [
        23: ["…debian-1…/v1.2/l…e.deb", "…debian-2…/v1.3/l…e.deb"],
        40: [
          "mirror-of-debian-1…/v1.2/linux-image.deb", "mirror-of-debian-2…/v1.3/linux-image.deb",
        ],
      ]),
    Case(
      template: "cdn{1}.downloads.example.org/pub/release/disc.iso", first: ["1", "2"],
      second: [""], cuts: [20: ["cdn1…/disc.iso", "cdn2…/disc.iso"]]),
    Case(
      template: "mirror.{1}.example.org/debian/{2}/netinst.iso", first: ["one", "two"],
      second: ["amd64", "arm64"],
      cuts: [
        23: ["…one…/amd64/netinst.iso", "…two…/arm64/netinst.iso"],
        31: ["mirror.one…/amd64/netinst.iso", "mirror.two…/arm64/netinst.iso"],
      ]),
    // Two by two of what tells them apart stand in one component.
    Case(
      template: "{1}.example.{2}/debian/debian.iso", first: ["mirror", "archive"],
      second: ["net", "org"],
      cuts: [
        23: ["mirror…net/…/debian.iso", "archive…org/…debian.iso"]
      ]),
    // A name that is too long as well.
    Case(
      template: "mirror-{1}.example.org/pool/linux-image-6.1.0-{2}-cloud-amd64-unsigned.deb",
      first: ["a", "b"], second: ["25", "26"],
      cuts: [31: ["mirror-a…linux-ima…25…igned.deb", "mirror-b…linux-ima…26…igned.deb"]]),
    // The same words in another order.
    Case(
      template: "h.example.org/logs/2024/{1}/{2}/access.log.gz", first: ["01", "02"],
      second: ["01", "02"],
      cuts: [18: ["…/01/01/acce…og.gz", "…/02/02/acce…og.gz"]]),
    // A word that has no room.
    Case(
      template: "store-{1}.example.org/sha256/{2}/blob.bin", first: ["a", "b"],
      second: [
        "3f786850e387550fdab836ed7e6dc881de23001b", "89e6c98d92887913cadf06b2adb97f26cde4849b",
      ], cuts: [31: ["store-a…/3f7868…23001b/blob.bin", "store-b…/89e6c9…e4849b/blob.bin"]]),
    Case(
      template: "h.example.org/動画/とても長い名前のファイル-{1}巻{2}-最終版.zip", first: ["第一", "第二"],
      second: ["上", "下"], cuts: [23: ["…とても…第一巻上…版.zip", "…とても…第二巻下…版.zip"]]),
  ]

  @Test(arguments: cases)
  func `paths are told apart by what differs, which can be read`(sample: Case) {
    let paths = sample.paths
    for (columns, wanted) in sample.cuts {
      let cutter = PathCutter(paths, in: columns)
      let shown = [paths[0], paths[paths.count - 1]].map { cutter.cut($0, to: columns) }
      #expect(shown == wanted, "in \(columns) columns")
    }
  }

  @Test(arguments: cases, ["…", "..."])
  func `no two look alike where there is room, nor is one too wide`(
    sample: Case, ellipsis: String
  ) {
    for columns in 0...80 {
      let cutter = PathCutter(sample.paths, in: columns, ellipsis: ellipsis)
      let cut = sample.paths.map { cutter.cut($0, to: columns) }
      for text in cut { #expect(DisplayWidth.of(text) <= columns, "\(columns): \(text)") }
      if columns >= 23 { #expect(Set(cut).count == cut.count, "\(columns): \(cut)") }
    }
  }

  @Test func `paths of different depths are told apart, and others cut as if alone`() {
    let paths = [
      "h.example.org/a/very/deep/directory/x.iso", "h.example.org/a/very/x.iso",
      "i.example.org/a/very/x.iso", "archive.example.net/films/2024/holiday.mkv",
    ]
    let cutter = PathCutter(paths, in: 23)
    #expect(
      paths.map { cutter.cut($0, to: 23) } == [
        "h…/deep/directory/x.iso", "h.example…/a/very/x.iso", "i.example…/a/very/x.iso",
        "…/2024/holiday.mkv",
      ])
  }
}
