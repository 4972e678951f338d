import HaulSystem

/// The reason why a directory cannot be used as a store or for other files. The description is a sentence for the operator,
/// without a full stop at the end.
package enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The directory does not exist. `store` is the name of the store that uses the directory, if known.
  case absent(String, store: String? = nil)
  /// The path leads to something that is not a directory.
  case noDirectory(String)
  /// The directory has no marker file: the file system is not mounted, or the directory was never initialised.
  case noMarker(store: String, directory: String)
  case unreadableMarker(String)
  case unwritable(String, reason: String)
  /// This process lacks a right. Both texts are clauses without a full stop.
  case notPermitted(_ fault: String, advice: String)

  package var description: String {
    switch self {
    case .absent(let directory, let store):
      "\(directory) does not exist: mount it, or create it and run 'haul store init \(store.map(shellWord) ?? "NAME") \(shellWord(directory))'"
    case .noDirectory(let path): "\(path) is not a directory"
    case .noMarker(let store, let directory):
      "\(directory) has no store marker. If the directory is on a share, check that the share is mounted. If the directory is new, run 'haul store init \(shellWord(store)) \(shellWord(directory))'"
    case .unreadableMarker(let directory):
      "cannot read the store marker \(directory)/.haul/store.json"
    case .unwritable(let directory, let reason): "cannot write to \(directory): \(reason)"
    case .notPermitted(let fault, let advice): "\(fault): \(advice)"
    }
  }
}
