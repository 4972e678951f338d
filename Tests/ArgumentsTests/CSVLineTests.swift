import ListFormats
import Testing

/// Fields of CSV that need quotation marks.
struct CSVLineTests {
  @Test(arguments: [
    ("plain", "plain"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\nb", "\"a\nb\""), ("", ""),
    // A quotation mark with a combining mark is one Character.
    ("a\"\u{301}b", "\"a\"\"\u{301}b\""),
  ])
  func `a field is quoted where its text requires it`(text: String, field: String) {
    #expect(CSVLine.of([text, "x"]).utf8.elementsEqual("\(field),x\r\n".utf8))
  }
}
