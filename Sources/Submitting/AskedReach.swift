package import HaulTransfer
import Synchronization

/// Collects the permissions that a worker needs to download the submitted URLs. Any thread may add URLs while lines are read.
package final class AskedReach: Sendable {
  /// The required permissions: schemes other than http and https, and addresses that are not public. Host names are not
  /// resolved, because they may have other addresses on the workers' network.
  package struct Needs: Sendable, Equatable {
    package var schemes: Set<String> = []
    package var addresses: Set<IPAddress> = []

    package init(schemes: Set<String> = [], addresses: Set<IPAddress> = []) {
      self.schemes = schemes
      self.addresses = addresses
    }
  }

  /// The maximum number of addresses to keep, because a person does not read more.
  private static let most = 100
  private let state = Mutex(Needs())

  package init() {}

  package var needs: Needs { state.withLock(\.self) }

  package func note(_ url: WebURL) {
    let isWeb = WebURL.webSchemes.contains(url.scheme)
    let address = IPAddress.spelled(by: url.host).flatMap {
      AddressPolicy.publicOnly.allows($0) ? nil : $0
    }
    if isWeb && address == nil { return }
    state.withLock { needs in
      if !isWeb { needs.schemes.insert(url.scheme) }
      if let address, needs.addresses.count < Self.most { needs.addresses.insert(address) }
    }
  }
}
