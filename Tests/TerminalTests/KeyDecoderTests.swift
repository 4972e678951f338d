import Testing

@testable import Terminal

struct KeyDecoderTests {
  /// Bytes as terminals send them, and the keys they are.
  static let table: [(bytes: String, keys: [Key])] = [
    ("q", [.character("q")]),
    ("jk", [.character("j"), .character("k")]),
    (" ", [.character(" ")]),
    ("é動🚀", [.character("é"), .character("動"), .character("🚀")]),
    ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]), ("\u{7f}", [.backspace]),
    ("\u{8}", [.backspace]),
    ("\u{c}", [.control("l")]), ("\u{15}", [.control("u")]),
    ("\u{1b}[A\u{1b}[B\u{1b}[C\u{1b}[D", [.up, .down, .right, .left]),
    ("\u{1b}OA\u{1b}OB\u{1b}OH\u{1b}OF", [.up, .down, .home, .end]),
    (
      "\u{1b}[H\u{1b}[F\u{1b}[1~\u{1b}[4~\u{1b}[7~\u{1b}[8~",
      [.home, .end, .home, .end, .home, .end]
    ),
    ("\u{1b}[5~\u{1b}[6~\u{1b}[3~", [.pageUp, .pageDown, .delete]),
    ("\u{1b}[Z", [.backTab]),
    // With Shift or Ctrl it is the same key; F5, a mouse and Alt are none of ours.
    ("\u{1b}[1;5A\u{1b}[5;2~", [.up, .pageUp]),
    ("\u{1b}[15~\u{1b}[<0;3;4Mx", [.character("x")]), ("\u{1b}OM", [.enter]),
    ("\u{1b}xq", [.character("q")]),
    ("\u{1b}\u{1b}[A", [.escape, .up]),
    ("\u{0}\u{1f}q", [.character("q")]),
  ]

  @Test(arguments: table)
  func `bytes are keys, however they are cut`(bytes: String, keys: [Key]) {
    var decoder = KeyDecoder()
    #expect(decoder.keys(Array(bytes.utf8)) == keys)
    var found: [Key] = []
    for byte in bytes.utf8 { found += decoder.keys([byte]) }
    #expect(found == keys)
  }

  @Test func `an escape is a key when nothing follows it`() {
    var decoder = KeyDecoder()
    #expect(decoder.keys([0x1b]) == [])
    #expect(decoder.flush() == [.escape])
    #expect(decoder.keys(Array("\u{1b}[".utf8)) == [])
    #expect(decoder.flush() == [])
    #expect(decoder.keys(Array("q".utf8)) == [.character("q")])
  }

  @Test func `what is no UTF-8 is skipped`() {
    var decoder = KeyDecoder()
    #expect(decoder.keys([0xff, 0xc0, 0x80, 0x71]) == [.character("q")])
    #expect(
      decoder.keys([0xe5, 0x41, 0x41, 0x71]) == [.character("A"), .character("A"), .character("q")])
  }
}
