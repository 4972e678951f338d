import HaulTransfer
import JobQueue
import Testing

@testable import Reports

/// What is said after a submission that no live worker can do.
struct QueueServiceTests {
  private func warnings(
    _ workers: [QueueService.Reach], isPaused: Bool = false, isMounted: Bool = false,
    schemes: Set<String> = [], addresses: [String] = []
  ) -> [String] {
    QueueService(store: "main", paused: isPaused, mounted: isMounted, workers: workers).warnings(
      queue: "films", schemes: schemes, addresses: Set(addresses.compactMap(IPAddress.init)))
  }

  private let web = QueueService.Reach(schemes: ["http", "https"], networks: [])
  private let wide = QueueService.Reach(
    schemes: ["ftp", "http", "https"], networks: ["10.0.0.0/8", "127.0.0.1", "fd00::/8"])
  private let silent = QueueService.Reach(schemes: nil, networks: nil)

  @Test func `nobody serves the queue`() {
    #expect(
      warnings([]) == [
        "no worker serves the queue films. Start one with: haul worker --store main=DIRECTORY"
      ])
    #expect(
      warnings([], isMounted: true, schemes: ["ftp"]).first?.hasSuffix(
        "haul worker --store main=DIRECTORY --queue films --allow-scheme ftp") == true)
    #expect(warnings([], addresses: ["10.1.2.3"]).first?.hasSuffix(" --allow-net 10.1.2.3") == true)
    #expect(warnings([web]).isEmpty)
    #expect(
      warnings([web], isPaused: true) == [
        "the queue films is paused. Resume it with: haul queue resume films"
      ])
    #expect(
      warnings([], isPaused: true).map { $0.prefix(25) } == [
        "the queue films is paused", "no worker serves the queu",
      ])
  }

  @Test func `a scheme or an address that no worker of the queue may reach`() {
    #expect(
      warnings([web], schemes: ["sftp", "ftp"]) == [
        "no worker of the queue films downloads ftp or sftp URLs, so these jobs will fail. Start a worker with --allow-scheme ftp"
      ])
    #expect(
      warnings([web], addresses: ["10.1.2.3"]) == [
        "no worker of the queue films connects to 10.1.2.3, which is not public, so these jobs will fail. Start a worker with --allow-net 10.1.2.3"
      ])
    #expect(
      warnings([web], addresses: ["10.1.2.3", "fd00::1"]).first?.contains(
        "10.1.2.3 and 1 more address, which are not public") == true)
    #expect(warnings([wide], addresses: ["192.168.0.1"]).count == 1)
  }

  @Test func `a worker that cannot spoils the jobs that it takes from one that can`() {
    // One that has not said what it may is taken for one that may.
    for other in [wide, silent] {
      #expect(
        warnings([web, other], schemes: ["ftp"], addresses: ["10.1.2.3", "fd00::1"]) == [
          "some workers of the queue films do not download ftp URLs, so jobs that these workers claim will fail. Start every worker of the queue with --allow-scheme ftp --allow-net 10.1.2.3 --allow-net fd00::1"
        ])
      #expect(
        warnings([web, other], addresses: ["127.0.0.1"]) == [
          "some workers of the queue films do not connect to 127.0.0.1, so jobs that these workers claim will fail. Start every worker of the queue with --allow-net 127.0.0.1"
        ])
      #expect(
        warnings([other], schemes: ["ftp"], addresses: ["127.0.0.1"]).isEmpty)
      #expect(warnings([web, other]).isEmpty)
    }
  }
}
