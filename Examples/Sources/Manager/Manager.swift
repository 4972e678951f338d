import FoundationEssentials
import HaulTransfer

/// Manages the downloads of one directory. When the program starts again, it continues them.
final class Manager {
  private let directory: String
  private let downloader: Downloader
  private let queue: DownloadQueue
  /// All downloads since the program started. In a command, the number N means the download at position N, counted from 1.
  private var downloads: [Download] = []
  private var watchers: [Task<Void, Never>] = []

  /// Continues the downloads that `DIRECTORY/downloads.json` lists.
  init(directory: String) throws {
    self.directory = directory
    var configuration = Downloader.Configuration()
    if let block = ProcessInfo.processInfo.environment["ALLOW"].flatMap(CIDR.init) {
      configuration.addressPolicy = AddressPolicy(allowing: [block])
    }
    downloader = try Downloader(configuration)
    // The queue starts suspended, so that no download begins before this program observes it.
    queue = try DownloadQueue(
      downloader, maxConcurrent: 2, list: "\(directory)/downloads.json", isSuspended: true)
    for download in queue.downloads { watch(download) }
    queue.isSuspended = false
  }

  /// Runs one command of the user.
  func perform(_ line: String) async {
    let words = line.split(separator: " ").map(String.init)
    guard let command = words.first else { return }
    let argument = words.dropFirst().first ?? ""
    switch command {
    case "add": add(argument)
    case "pause": find(argument)?.suspend()
    case "resume": await resume(argument)
    case "remove":
      guard let download = find(argument) else { return }
      await queue.remove(download)
      print("\(argument) removed")
    case "cap":
      guard let cap = Int(argument), cap > 0 else { return print("the cap must be above 0") }
      queue.maxConcurrent = cap
      print("at most \(cap) at a time")
    case "list":
      for (index, download) in downloads.enumerated() {
        let progress = download.currentProgress
        print("\(index + 1) \(download.state) \(progress.bytes) bytes \(download.request.url)")
      }
    default: print("commands: add URL, pause N, resume N, remove N, cap N, list, quit")
    }
  }

  /// Stops all downloads. Returns when the list contains the progress of each download.
  func shutDown() async throws {
    await downloader.shutdown()
    try await queue.save()
    for watcher in watchers { await watcher.value }
  }

  // MARK: - Commands

  private func add(_ url: String) {
    var options = DownloadOptions()
    options.ifExists = .rename
    options.retry = RetryPolicy()
    let name = URL(string: url)?.lastPathComponent ?? ""
    watch(
      queue.start(url, to: "\(directory)/\(name.isEmpty ? "index.html" : name)", options: options))
  }

  private func resume(_ number: String) async {
    guard let download = find(number) else { return }
    guard download.state == .finished else { return download.resume() }
    guard case .failure = await download.result else { return print("\(number) is complete") }
    // A failed download stays in the list until it is removed. A new download, with a new number, continues it.
    watch(queue.start(download.request, from: download.resumeData))
    await queue.remove(download)
  }

  private func find(_ number: String) -> Download? {
    guard let number = Int(number), downloads.indices.contains(number - 1) else {
      print("there is no download \(number)")
      return nil
    }
    return downloads[number - 1]
  }

  // MARK: - Observers

  /// Starts two observers of a download. A download may have any number of observers.
  private func watch(_ download: Download) {
    downloads.append(download)
    let number = downloads.count
    watchers.append(Task { await Manager.showEvents(of: download, number) })
    watchers.append(Task { await Manager.showProgress(of: download, number) })
  }

  private static func showEvents(of download: Download, _ number: Int) async {
    for await event in download.events {
      if let words = words(for: event) { print("\(number) \(words)") }
    }
  }

  private static func showProgress(of download: Download, _ number: Int) async {
    var shown = 0
    for await progress in download.progress {
      let tenths = Int((progress.fractionCompleted ?? 0) * 10)
      guard tenths > shown else { continue }
      shown = tenths
      print("\(number) \(tenths * 10) %, \(Int(progress.rate)) bytes a second")
    }
  }

  private static func words(for event: DownloadEvent) -> String? {
    switch event {
    case .state(.finished), .redirected, .response, .progress, .saved: nil
    case .state(let state): "\(state)"
    case .retrying(let delay, let error):
      "retrying within \(delay.components.seconds + 1) s: \(error.message)"
    case .finished(.success(let file)): "complete \(file.path)"
    case .finished(.failure(let error)): "ended: \(error)"
    }
  }
}
