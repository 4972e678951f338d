import Testing

@testable import HaulTransfer

/// Names that servers give their files (RFC 6266, RFC 8187).
struct ContentDispositionTests {
  private static let long = String(repeating: "n", count: 300)

  @Test(
    arguments: [
      (#"attachment; filename="a b.iso""#, "a b.iso"), ("attachment; filename=a.iso", "a.iso"),
      ("inline; FileName = a.iso ; size=5", "a.iso"), ("attachment;filename=a.iso", "a.iso"),
      ("attachment; filename=my file.iso; x=1", "my file.iso"),
      (#"attachment; filename="a;b\"c\".iso""#, #"a;b"c".iso"#),
      // What RFC 8187 encodes goes first, in whichever order.
      (#"attachment; filename="e.txt"; filename*=UTF-8''%e2%82%ac%20rates.txt"#, "€ rates.txt"),
      (#"attachment; filename*=utf-8'de'%C3%A4.txt; filename=a.txt"#, "ä.txt"),
      ("attachment; filename*=ISO-8859-1''%E4.txt", "ä.txt"),
      // Where it cannot be read, the plain one counts.
      ("attachment; filename=a.txt; filename*=UTF-8''%E4.txt", "a.txt"),
      ("attachment; filename=a.txt; filename*=KOI8-R''b.txt", "a.txt"),
      ("attachment; filename=a.txt; filename*=b.txt", "a.txt"),
      ("attachment; filename=a.txt; filename*=UTF-8''%zz", "a.txt"),
      // Only a name, and none that hides, leaves the directory or is taken for an option.
      (#"attachment; filename="../../etc/passwd""#, "passwd"),
      (#"attachment; filename="C:\dir\a.iso""#, "a.iso"),
      (#"attachment; filename="C:\\dir\\a.iso""#, "a.iso"),
      ("attachment; filename*=UTF-8''..%2F..%2Fa.iso", "a.iso"),
      ("attachment; filename=.bashrc", "bashrc"), ("attachment; filename=...haul", "haul"),
      (#"attachment; filename="-rf""#, "_rf"), (#"attachment; filename="a.iso. . ""#, "a.iso"),
      ("attachment; filename*=UTF-8''a%00%0A%1B%5B2Jb.iso", "a[2Jb.iso"),
      ("attachment; filename*=UTF-8''a%E2%80%AEosi.exe", "aosi.exe"),
      (#"attachment; filename="a%20b.iso""#, "a%20b.iso"),
      ("attachment; filename=\(long).tar", String(repeating: "n", count: 251) + ".tar"),
      // None.
      ("attachment", nil), ("attachment; filename=", nil), (#"attachment; filename="""#, nil),
      ("attachment; filename=..", nil), (#"attachment; filename="a/""#, nil),
      ("", nil), (#"attachment; filename="open"#, "open"), (";;;==\"", nil),
    ] as [(String, String?)])
  func `a field gives a name that is fit, or none`(field: String, name: String?) {
    let head = ResponseHead(status: 200, fields: [.init("Content-Disposition", field)])
    #expect(head.suggestedName == name)
    if let name { #expect((try? RelativePath(name)) != nil) }
  }

  @Test func `bytes that are no UTF-8 are Latin-1`() {
    let line = Array("attachment; filename=\"".utf8) + [0xE4] + Array(".txt\"".utf8)
    let text = line.withUnsafeBytes { HeaderText.text($0) }
    let head = ResponseHead(status: 200, fields: [.init("Content-Disposition", text)])
    #expect(head.suggestedName == "ä.txt")
  }

  @Test func `of fields that differ none counts, and the same twice is one`() {
    let fields = ["attachment; filename=a", "attachment; filename=b"].map {
      ResponseHead.Field("Content-Disposition", $0)
    }
    #expect(ResponseHead(status: 200, fields: fields).suggestedName == nil)
    #expect(ResponseHead(status: 200, fields: [fields[0], fields[0]]).suggestedName == "a")
  }
}
