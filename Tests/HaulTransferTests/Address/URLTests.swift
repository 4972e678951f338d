import Testing

@testable import HaulTransfer

struct URLTests {
  @Test(arguments: [
    ("http://Example.ORG", "http://Example.ORG/", "example.org", 80),
    ("http://example.org:80/a", "http://example.org/a", "example.org", 80),
    ("https://example.org:443/", "https://example.org/", "example.org", 443),
    ("https://example.org:80/", "https://example.org:80/", "example.org:80", 80),
    ("HTTPS://example.org:8443/", "https://example.org:8443/", "example.org:8443", 8443),
    ("http://example.org./", "http://example.org./", "example.org", 80),
    ("http://[::1]:8080/", "http://[::1]:8080/", "[::1]:8080", 8080),
    ("http://127.1/", "http://127.0.0.1/", "127.0.0.1", 80),
    ("http://0x7f000001/", "http://127.0.0.1/", "127.0.0.1", 80),
    ("http://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80),
    ("http://h/a/../b/./c", "http://h/a/../b/./c", "h", 80),
    ("http://h/a b?c d#e", "http://h/a%20b?c%20d", "h", 80),
    ("http://h/%zz%2F?%zz", "http://h/%zz%2F?%zz", "h", 80),
    ("http://h/ü", "http://h/%c3%bc", "h", 80),
    ("http://BÜCHER.example/", "http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80),
    (
      "http://b%C3%BCcher.example:81/", "http://xn--bcher-kva.example:81/",
      "xn--bcher-kva.example:81", 81
    ),
    ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80),
    ("http://faß.de/", "http://xn--fa-hia.de/", "xn--fa-hia.de", 80),
    ("http://１２７.¹/", "http://127.0.0.1/", "127.0.0.1", 80),
    ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/", "xn--r8jz45g.xn--zckzah", 80),
    ("http://１２７.0.0.1/", "http://127.0.0.1/", "127.0.0.1", 80),
    ("http://[::1%25lo]/", "http://[::1%25lo]/", "[::1]", 80),
    // One address is one host, however libcurl leaves it.
    ("http://[64:ff9b::1.2.3.4]/", "http://[64:ff9b::1.2.3.4]/", "[64:ff9b::102:304]", 80),
    ("http://[::1:2]:81/", "http://[::1:2]:81/", "[::0.1.0.2]:81", 81),
    ("http://1.2.3.4.5/", "http://1.2.3.4.5/", "1.2.3.4.5", 80),
  ])
  func `a URL is taken apart as libcurl does`(
    _ text: String, _ whole: String, _ hostKey: String, _ port: Int
  ) throws {
    let url = try WebURL(text)
    #expect(url.text == whole)
    #expect(url.hostKey == hostKey)
    #expect(url.port == port)
    #expect(try WebURL(url.text) == url)
  }

  @Test func `the parts are there`() throws {
    let url = try WebURL("https://Example.org/a%20b/c?d=e&f")
    #expect(url.scheme == "https")
    #expect(url.host == "example.org")
    #expect(url.path == "/a%20b/c")
    #expect(url.query == "d=e&f")
    #expect(!url.hasCredentials)
    #expect(try WebURL("http://h").path == "/")
    #expect(try WebURL("http://h").query == nil)
    #expect(try WebURL("http://user@h/").hasCredentials)
    let empty = try WebURL("http://h/a").resolving(location: "http://@g/b")
    #expect(!empty.hasCredentials && empty.text == "http://g/b")
    #expect(try WebURL("http://:@h/").hasCredentials == false)
    #expect(try WebURL("http://:secret@h/").hasCredentials)
  }

  @Test(arguments: [
    "", "example.org/x", "/x", "mailto:a@b", "file:///etc/passwd", "ftp://h/x", "javascript:x",
    "http://", "http:///a", "http:/a", "http:/example.org/a", "http://:80/", "http://user@:80",
    "http://.", "http://./", "http://..",
    "http://a..b/", "http://.a/", "http://\(String(repeating: "a", count: 64)).example/",
    "http://127.0.0.1:0/", "http://h:00/", "http://h:-1/", "http://h:+80/", "http://[zz]/",
    "http://*/",
    "http://a%2fb/", "http://a%00b/", "http://\u{200d}/", "http://ex ample/", "http://h:99999/",
    "http://h:x/", "http://h/a\nb",
    "http://h/a\u{0}b", "http://[::1/", "gopher://h/", "dict://h/",
  ])
  func `what is no web URL is refused`(_ text: String) {
    let error = #expect(throws: TransferError.self) { try WebURL(text) }
    #expect(error?.errorClass == .blockedURL)
  }

  @Test func `a refusal does not repeat the URL`() {
    let error = #expect(throws: TransferError.self) {
      try WebURL("http://user:secret@h:notaport/?token=abc")
    }
    #expect(error?.message.contains("secret") == false)
    #expect(error?.message.contains("abc") == false)
  }

  @Test func `other schemes may be allowed`() throws {
    #expect(try WebURL("ftp://h/x", schemes: ["ftp"]).hostKey == "h")
    #expect(throws: TransferError.self) { try WebURL("http://h/x", schemes: ["ftp"]) }
  }

  @Test(arguments: [
    ("/c", "http://h:8080/c"), ("c", "http://h:8080/a/c"), ("../c", "http://h:8080/c"),
    ("./c/./d/../e", "http://h:8080/a/c/e"), ("../../../c", "http://h:8080/c"),
    ("?z", "http://h:8080/a/b?z"), ("", "http://h:8080/a/b?q"), ("#f", "http://h:8080/a/b?q"),
    ("//other/x", "http://other/x"), ("https://other:444/x#f", "https://other:444/x"),
    ("/a b", "http://h:8080/a%20b"), ("/ü?x=a b", "http://h:8080/%c3%bc?x=a%20b"),
    ("http://user@other/", "http://user@other/"),
  ])
  func `a redirect is resolved`(_ location: String, _ expected: String) throws {
    #expect(try WebURL("http://h:8080/a/b?q").resolving(location: location).text == expected)
  }

  @Test func `a redirect does not inherit credentials`() throws {
    let url = try WebURL("http://user:secret@h/a").resolving(location: "b")
    #expect(url.text == "http://h/b")
  }

  @Test(arguments: [
    (
      #"http://h/a{b}|^"<>\[c]`d?q={|}^"<>\[]`"#,
      "http://h/a%7Bb%7D%7C%5E%22%3C%3E%5C%5Bc%5D%60d?q=%7B%7C%7D%5E%22%3C%3E%5C%5B%5D%60"
    ),
    ("http://h/a%7Bb%20c", "http://h/a%7Bb%20c"), ("http://h/a b", "http://h/a%20b"),
    ("http://[::1]:81/[a]", "http://[::1]:81/%5Ba%5D"), ("http://h", "http://h/"),
    ("http://h/../f.bin", "http://h/f.bin"), ("http://h/a/./b/../c", "http://h/a/c"),
    ("http://h/a/..", "http://h/"), ("http://h/a/.", "http://h/a/"),
    ("http://h/..a/b..", "http://h/..a/b.."),
    ("http://h/f.bin?", "http://h/f.bin?"), ("http://h/f?a=/../b", "http://h/f?a=/../b"),
    ("http://h?q", "http://h/?q"),
  ])
  func `a request has what RFC 3986 allows`(_ text: String, _ wire: String) throws {
    let url = try WebURL(text)
    #expect(url.wire == wire)
    // Jobs are told apart by what was submitted.
    #expect(try WebURL(url.text) == url)
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://h/", "http://h:x/", "gopher://h/"])
  func `a redirect elsewhere is refused`(_ location: String) throws {
    let url = try WebURL("http://h/")
    let error = #expect(throws: TransferError.self) { try url.resolving(location: location) }
    #expect(error?.errorClass == .blockedURL)
  }

  @Test(arguments: [
    ("http://u:p@h/a?b=c", "http://h/a?b=c"),
    (
      "https://h/?X-Amz-Signature=1&X-Amz-Date=2&x=3",
      "https://h/?X-Amz-Signature=***&X-Amz-Date=***&x=3"
    ),
    (
      "https://h/?X-Goog-Credential=1&Expires=2&KEY=3",
      "https://h/?X-Goog-Credential=***&Expires=***&KEY=***"
    ),
    // S3, GCS, Azure SAS, CloudFront, Akamai, Cloudflare, Zenodo, Dataverse, SharePoint, a Java server.
    (
      "https://h/k?X-Amz-Algorithm=a&X-Amz-Security-Token=b&versionId=3",
      "https://h/k?X-Amz-Algorithm=***&X-Amz-Security-Token=***&versionId=3"
    ),
    (
      "https://h/k?GoogleAccessId=a&Signature=b&generation=3",
      "https://h/k?GoogleAccessId=***&Signature=***&generation=3"
    ),
    (
      "https://h/k?skoid=1&skt=2&sig=3&comp=list", "https://h/k?skoid=***&skt=***&sig=***&comp=list"
    ),
    ("https://h/k?Policy=1&Key-Pair-Id=2", "https://h/k?Policy=***&Key-Pair-Id=***"),
    ("https://h/k?__token__=exp~hmac&hdnea=1", "https://h/k?__token__=***&hdnea=***"),
    ("https://h/k?verify=1-2&page=1", "https://h/k?verify=***&page=1"),
    ("https://h/records/1/files/a?token=j.w.t", "https://h/records/1/files/a?token=***"),
    (
      "https://h/api/access/datafile/3?unblock-key=1",
      "https://h/api/access/datafile/3?unblock-key=***"
    ),
    ("https://h/x?tempauth=v1&name=a", "https://h/x?tempauth=***&name=a"),
    (
      "https://h/a;jsessionid=1;v=2/b?x=1;token=2", "https://h/a;jsessionid=***;v=2/b?x=1;token=***"
    ),
    ("https://h/?hash=1&st=2&pw=3&api_%6bey=4", "https://h/?hash=***&st=***&pw=***&api_%6bey=***"),
    ("https://h/a=b/c?q=a#access_token=1", "https://h/a=b/c?q=a"),
    ("https://h/?sv=1&sig=a%3D&page=2", "https://h/?sv=***&sig=***&page=2"),
    ("https://h/?access_token=a=b&flag&=x", "https://h/?access_token=***&flag&=x"),
    ("https://h/?md5=1&rlkey=2&hdnts=3", "https://h/?md5=***&rlkey=***&hdnts=***"),
  ])
  func `secrets are not shown`(_ text: String, _ expected: String) throws {
    #expect(try WebURL(text).redacted == expected)
  }

  @Test(arguments: [
    ("http://h/a", "http://H:80/b", true), ("http://h/", "https://h/", false),
    ("http://h/", "http://h:81/", false), ("http://h/", "http://i/", false),
  ])
  func `an origin is scheme, host and port`(_ one: String, _ two: String, _ same: Bool) throws {
    #expect(try WebURL(one).isSameOrigin(as: WebURL(two)) == same)
  }
}
