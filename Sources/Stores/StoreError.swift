import HaulSystem

/// Why a directory cannot serve, as a store or for what else is to be written there. The description is a sentence for the
/// operator, without its full stop.
package enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// `store` is the name of the store that it was to be, where one is known.
  case absent(String, store: String? = nil)
  /// Something else is there.
  case noDirectory(String)
  /// The share is not mounted, or the directory was never initialised.
  case noMarker(store: String, directory: String)
  case unreadableMarker(String)
  case unwritable(String, reason: String)
  /// The user of this process lacks a right. Both are clauses.
  case notPermitted(_ fault: String, advice: String)

  package var description: String {
    switch self {
    case .absent(let directory, let store):
      "\(directory) is not there: mount it, or make it and run 'haul store init \(store.map(shellWord) ?? "NAME") \(shellWord(directory))'"
    case .noDirectory(let path): "\(path) is not a directory"
    case .noMarker(let store, let directory):
      "\(directory) has no marker of a store: is the share mounted? If it is new, run 'haul store init \(shellWord(store)) \(shellWord(directory))'"
    case .unreadableMarker(let directory):
      "the marker \(directory)/.haul/store.json cannot be read"
    case .unwritable(let directory, let reason): "\(directory) cannot be written: \(reason)"
    case .notPermitted(let fault, let advice): "\(fault): \(advice)"
    }
  }
}
