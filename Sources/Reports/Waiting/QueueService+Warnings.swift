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
      let start = WorkerStart(
        store: store, queue: mounted ? queue : nil, schemes: schemes.sorted(),
        hosts: addresses.map { $0.bytes.count == 16 ? "[\($0)]" : "\($0)" }, roots: roots ?? [])
      return found + [Obstacle(.unserved, queue, start: start).sentence(of: nil)]
    }
    found += mixedWarnings(queue: queue, schemes, addresses)
    let schemes = schemes.sorted().filter { scheme in
      !workers.contains { $0.schemes?.contains(scheme) ?? true }
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

  /// Returns warnings about URLs that some workers of the queue can download and others cannot.
  private func mixedWarnings(
    queue: String, _ schemes: Set<String>, _ addresses: Set<IPAddress>
  ) -> [String] {
    func isMixed(_ can: (Reach) -> Bool) -> Bool {
      workers.contains(where: can) && !workers.allSatisfy(can)
    }
    let options =
      schemes.sorted().filter { scheme in isMixed { $0.schemes?.contains(scheme) ?? true } }
      .map { (what: "downloads \($0) URLs", option: "--allow-scheme \($0)") }
      + addresses.filter { address in isMixed { $0.allows(address) } }.map(\.description).sorted()
      .map { (what: "connects to \($0)", option: "--allow-net \($0)") }
    guard let first = options.first else { return [] }
    return [
      "not every worker of the queue \(queue) \(first.what), so jobs that such a worker claims will fail. "
        + "Start every worker of the queue with \(options.map(\.option).joined(separator: " "))"
    ]
  }
}

extension QueueService.Reach {
  fileprivate func allows(_ address: IPAddress) -> Bool {
    guard let networks else { return true }
    return AddressPolicy(allowing: networks.compactMap(CIDR.init)).allows(address)
  }
}
