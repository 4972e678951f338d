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
}

extension QueueService.Reach {
  fileprivate func allows(_ address: IPAddress) -> Bool {
    guard let networks else { return true }
    return AddressPolicy(allowing: networks.compactMap(CIDR.init)).allows(address)
  }
}
