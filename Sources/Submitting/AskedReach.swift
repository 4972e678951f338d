package import HaulTransfer
import Synchronization

/// What a worker must be allowed to fetch what is submitted. Filled while lines are read, on any thread.
package final class AskedReach: Sendable {
  /// Schemes besides http and https, and addresses that are not public. Names are not looked up: what they stand for where the
  /// workers are is not known here.
  package struct Needs: Sendable, Equatable {
    package var schemes: Set<String> = []
    package var addresses: Set<IPAddress> = []

    package init(schemes: Set<String> = [], addresses: Set<IPAddress> = []) {
      self.schemes = schemes
      self.addresses = addresses
    }
  }

  /// More addresses than a person reads are not kept.
  private static let most = 100
  private let state = Mutex(Needs())

  package init() {}

  package var needs: Needs { state.withLock(\.self) }

  package func note(_ url: WebURL) {
    let isWeb = WebURL.webSchemes.contains(url.scheme)
    let address = Self.address(url.host).flatMap {
      AddressPolicy.publicOnly.allows($0) ? nil : $0
    }
    if isWeb && address == nil { return }
    state.withLock { needs in
      if !isWeb { needs.schemes.insert(url.scheme) }
      if let address, needs.addresses.count < Self.most { needs.addresses.insert(address) }
    }
  }

  /// The address that a host spells out.
  private static func address(_ host: String) -> IPAddress? {
    if host == "localhost" { return IPAddress("127.0.0.1") }
    guard let first = host.utf8.first, first == UInt8(ascii: "[") || (48...57).contains(first)
    else {
      return nil
    }
    return IPAddress(host.filter { $0 != "[" && $0 != "]" })
  }
}
