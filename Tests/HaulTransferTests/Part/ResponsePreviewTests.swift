import Testing

@testable import HaulTransfer

/// What a message shows of a response that is not taken for the file.
struct ResponsePreviewTests {
  @Test(
    arguments: [
      ("over quota", "over quota"), ("\n  over  quota \r\nmore", "over quota"),
      // Rules and brackets say nothing.
      ("***\n{\n  over quota\n}", "over quota"), ("\u{1b}[31mover\u{7} quota", "[31mover quota"),
      ("<html><TITLE lang=en>\nOver quota</TITLE>\nmore", "Over quota"),
      (String(repeating: "a", count: 90), String(repeating: "a", count: 79) + "…"),
      ("", nil), ("***\n---", nil),
    ] as [(String, String?)])
  func `the first line that can be read is shown`(text: String, shown: String?) {
    #expect(message(Array(text.utf8)) == "it is not the file" + (shown.map { ": \"\($0)\"" } ?? ""))
  }

  @Test func `what is no text is not shown`() {
    #expect(message([0x50, 0x4b, 0x61, 0xff, 0xfe]) == "it is not the file")
  }

  private func message(_ bytes: [UInt8]) -> String {
    var preview = ResponsePreview(TransferError(.suspectPage, "it is not the file"))
    _ = bytes.withUnsafeBytes { preview.take($0) }
    #expect(preview.error.body == bytes)
    return preview.error.message
  }
}
