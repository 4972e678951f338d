import Testing

@testable import haul

struct HostArgumentTests {
  @Test(arguments: [
    ("example.org", "example.org"), ("Example.ORG", "example.org"), ("example.org.", "example.org"),
    ("LOCALHOST:18080", "localhost:18080"), ("localhost:80", "localhost"),
    ("localhost:080", "localhost"), ("example.org:443", "example.org"),
    ("example.org:21", "example.org"), ("example.org:22", "example.org"),
    ("127.1", "127.0.0.1"), ("[::1]:8080", "[::1]:8080"),
    ("*", "*"), ("*.EXAMPLE.org", "*.example.org"), ("*.example.org:8443", "*.example.org:8443"),
    ("", ""), ("http://h/", "http://h/"), ("*.h/", "*.h/"), ("a b", "a b"),
    ("user@h", "user@h"), ("h:99999", "h:99999"),
  ])
  func `a host is spelled as those of jobs are`(_ typed: String, _ spelled: String) {
    #expect(HostArgument(argument: typed).argument == spelled)
  }
}
