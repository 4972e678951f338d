import JobQueue
import Terminal
import Testing

@testable import Reports

/// What a list of hosts says of why they start nothing.
struct HostListTests {
  @Test(arguments: [
    (#""why_idle": "held", "held": 12"#, "held (12)"),
    (#""why_idle": "empty", "held": 0"#, "empty"),
    (#""why_idle": "held""#, "held"), (#""held": 3"#, "-"),
  ])
  func `of a host whose jobs are paused it says how many`(fields: String, shown: String) throws {
    let row = try UnknownWordTests.decode(
      HostRow.self,
      """
      {"host": "a.test", "running": 0, "cap": 4, "waiting": false, "failures": 0, "policy_cap": 4, "interval": 0,
       "burst": 1, \(fields)}
      """)
    #expect(row.idle == shown)
    #expect(Listing(HostRow.columns).table([row], on: Screen(width: 80)).contains(shown))
  }
}
