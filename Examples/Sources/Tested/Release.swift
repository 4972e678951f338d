import HaulTransfer

/// Downloads the files of a release from a server. `downloads` is a ``Downloader`` in the program, and a fake in tests.
struct Release {
  /// The result of each file.
  struct Summary: Equatable {
    var complete: [String] = []
    /// The files that the server does not have.
    var missing: [String] = []
    /// The files that failed for another reason, with the error message. They may succeed later.
    var failed: [String: String] = [:]
  }

  let url: String
  let downloads: any Downloading

  /// Downloads the files one after another. Calls `report` with the name of each file and its downloaded fraction.
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
