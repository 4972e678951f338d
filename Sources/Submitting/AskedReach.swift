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
