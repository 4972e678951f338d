import HaulTransfer

/// The files of a release on a server. It takes any ``Downloading``: a ``Downloader`` in the program, a fake in tests.
struct Release {
  /// How the files came out.
  struct Summary: Equatable {
    var complete: [String] = []
    /// The server does not have these.
    var missing: [String] = []
    /// These may work later, with what went wrong.
    var failed: [String: String] = [:]
  }

  let url: String
  let downloads: any Downloading

  /// Downloads the files one after another, and calls `report` with the name and the fraction that is there of each.
  func fetch(
    _ names: [String], into directory: String,
    report: @escaping @Sendable (String, Double) -> Void = { _, _ in }
  ) async -> Summary {
    var summary = Summary()
    for name in names {
      let download = downloads.start("\(url)/\(name)", to: "\(directory)/\(name)")
      let follower = Task {
        for await progress in download.progress {
          if let fraction = progress.fractionCompleted { report(name, fraction) }
        }
      }
      switch await download.result {
      case .success: summary.complete.append(name)
      case .failure(let error) where error.errorClass == .http404: summary.missing.append(name)
      case .failure(let error): summary.failed[name] = error.message
      }
      await follower.value
    }
    return summary
  }
}
