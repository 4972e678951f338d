import Dispatch
import FoundationEssentials
@preconcurrency import Glibc
import HaulTransfer

/// Downloads URLs into a directory, three at a time, with a progress bar for each:
///
///     Bars DIRECTORY URL…
///
/// Ctrl-C pauses the downloads. The same command continues them, even after a crash. To allow private addresses, set `ALLOW` to
/// a block of them, such as `ALLOW=192.168.0.0/16`.
@main
enum Bars {
  static func main() async throws {
    // Flushes each line immediately, even in a pipe.
    setlinebuf(stdout)
    guard CommandLine.arguments.count >= 3 else {
      print("usage: Bars DIRECTORY URL…")
      exit(64)
    }
    var configuration = Downloader.Configuration()
    if let block = ProcessInfo.processInfo.environment["ALLOW"].flatMap(CIDR.init) {
      configuration.addressPolicy = AddressPolicy(allowing: [block])
    }
    let downloader = try Downloader(configuration)
    let queue = DownloadQueue(downloader, maxConcurrent: 3)
    let directory = CommandLine.arguments[1]
    let downloads = CommandLine.arguments[2...].map { url in
      let name = URL(string: url)?.lastPathComponent ?? ""
      return start(url, to: "\(directory)/\(name.isEmpty ? "index.html" : name)", in: queue)
    }
    let interruption = onInterrupt {
      Task { await queue.pauseAll() }
    }
    try await withThrowingDiscardingTaskGroup { group in
      for download in downloads {
        group.addTask { try await keepResumeData(of: download) }
      }
      group.addTask { await Screen().show(downloads) }
    }
    interruption.cancel()
    await downloader.shutdown()
    for download in downloads {
      if case .failure = await download.result { exit(1) }
    }
  }

  // MARK: - Resume data

  /// The file with the resume data of the download to `path`.
  static func resumeFile(for path: String) -> String { "\(path).resume" }

  /// Continues a download that an earlier run of the program began, or starts it.
  static func start(_ url: String, to path: String, in queue: DownloadQueue) -> Download {
    var options = DownloadOptions()
    options.ifExists = .skip
    options.retry = RetryPolicy()
    if let json = FileManager.default.contents(atPath: resumeFile(for: path)),
      let data = try? ResumeData(json: Array(json)), data.url == url
    {
      return queue.start(resumingFrom: data, to: path, options: options)
    }
    return queue.start(url, to: path, options: options)
  }

  /// Saves the resume data whenever more bytes are durable. Returns when the download has ended.
  static func keepResumeData(of download: Download) async throws {
    let file = resumeFile(for: download.request.path)
    for await event in download.events {
      switch event {
      case .saved(let data):
        try Data(data.json()).write(to: URL(filePath: file), options: .atomic)
      case .finished:
        // The resume data is nil after a success, or if the download cannot be continued.
        guard download.resumeData == nil else { continue }
        try? FileManager.default.removeItem(atPath: file)
      default: continue
      }
    }
  }

  /// Calls `body` when the user presses Ctrl-C, instead of ending the program. Keep the result: releasing it ends the calls.
  static func onInterrupt(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler(handler: body)
    source.activate()
    return source
  }
}
