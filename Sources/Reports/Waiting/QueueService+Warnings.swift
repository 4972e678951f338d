package import HaulTransfer
package import JobQueue

extension QueueService {
  /// Returns warnings about why jobs that were submitted to `queue` will wait or fail, and what to do; empty if the jobs can
  /// run.
  ///
  /// `schemes` are the URL schemes of the jobs other than http and https. `addresses` are the IP addresses in the jobs' URLs
  /// that are not public.
  package func warnings(
    queue: String, schemes: Set<String>, addresses: Set<IPAddress>
  ) -> [String] {
    var found = paused ? [Obstacle(.paused, queue).sentence(of: nil)] : []
    if workers.isEmpty {
      let start = start(queue: mounted ? queue : nil, schemes, addresses)
      return found + [Obstacle(.unserved, queue, start: start).sentence(of: nil)]
    }
    if let warning = mixedWarning(queue: queue, schemes, addresses) { found.append(warning) }
    let schemes = schemes.sorted().filter { scheme in
      !workers.contains { $0.downloads(scheme) }
    }
    if let first = schemes.first {
      found.append(
        "no worker of the queue \(queue) downloads \(schemes.joined(separator: " or ")) URLs, so these jobs will fail. Start a worker with --allow-scheme \(first)"
      )
    }
    let addresses = addresses.filter { address in
      !workers.contains { $0.allows(address) }
    }.map(\.description).sorted()
    if let first = addresses.first {
      let count = addresses.count
      let others =
        count > 1 ? " and \(count - 1) more \(count == 2 ? "address" : "addresses")" : ""
      found.append(
        "no worker of the queue \(queue) connects to \(first)\(others), which \(addresses.count > 1 ? "are" : "is") "
          + "not public, so these jobs will fail. Start a worker with --allow-net \(first)")
    }
    return found
  }

  /// Returns a warning if some workers of the queue can download URLs that others cannot; nil if there are no such URLs.
  private func mixedWarning(
    queue: String, _ schemes: Set<String>, _ addresses: Set<IPAddress>
  ) -> String? {
    func isMixed(_ can: (Reach) -> Bool) -> Bool {
      workers.contains(where: can) && !workers.allSatisfy(can)
    }
    let schemes = schemes.filter { scheme in isMixed { $0.downloads(scheme) } }
    let addresses = addresses.filter { address in isMixed { $0.allows(address) } }
    let lacks =
      schemes.min().map { "download \($0) URLs" }
      ?? addresses.map(\.description).min().map { "connect to \($0)" }
    guard let lacks else { return nil }
    return
      "some workers of the queue \(queue) do not \(lacks), so jobs that these workers claim will fail. "
      + "Start every worker of the queue with\(start(queue: nil, schemes, addresses).reach)"
  }

  /// A worker of the queue's store that can download such URLs.
  private func start(
    queue: String?, _ schemes: Set<String>, _ addresses: Set<IPAddress>
  ) -> WorkerStart {
    WorkerStart(
      store: store, queue: queue, schemes: schemes.sorted(),
      hosts: addresses.map { $0.bytes.count == 16 ? "[\($0)]" : "\($0)" }, roots: roots ?? [])
  }
}

extension QueueService.Reach {
  fileprivate func downloads(_ scheme: String) -> Bool { schemes?.contains(scheme) ?? true }

  fileprivate func allows(_ address: IPAddress) -> Bool {
    guard let networks else { return true }
    return AddressPolicy(allowing: networks.compactMap(CIDR.init)).allows(address)
  }
}
