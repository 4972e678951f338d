import Dispatch
import FoundationEssentials
@preconcurrency import Glibc
import HaulTransfer

/// Downloads URLs into a directory, four at a time or one after another:
///
///     Mirror [--one-at-a-time] DIRECTORY URL…
///
/// Mirror skips files that already exist. Ctrl-C keeps complete files and removes unfinished ones. To allow private addresses,
/// set `ALLOW` to a block of them, such as `ALLOW=192.168.0.0/16`.
@main
enum Mirror {
  static func main() async throws {
    // Flushes each line immediately, even in a pipe.
    setlinebuf(stdout)
    var arguments = Array(CommandLine.arguments.dropFirst())
    let isOneAtATime = arguments.first == "--one-at-a-time"
    if isOneAtATime { arguments.removeFirst() }
    guard arguments.count >= 2 else {
      print("usage: Mirror [--one-at-a-time] DIRECTORY URL…")
      exit(64)
    }
    let directory = arguments.removeFirst()
    // A killed run may have left partial files. This program does not continue them.
    try Downloader.discardPartialFiles(in: directory)
    let requests = arguments.map { request($0, into: directory) }

    let (interruptions, interruption) = AsyncStream.makeStream(of: Void.self)
    let source = onInterrupt { interruption.yield() }
    let work = Task { try await download(requests, maxConcurrent: isOneAtATime ? 1 : 4) }
    let watch = Task {
      for await _ in interruptions { work.cancel() }
    }
    let failures = try await work.value
    watch.cancel()
    source.cancel()
    if work.isCancelled { exit(130) }
    exit(failures == 0 ? 0 : 1)
  }

  /// Downloads the files and returns how many failed. Cancelling the task removes unfinished files.
  static func download(_ requests: [DownloadRequest], maxConcurrent: Int) async throws -> Int {
    var configuration = Downloader.Configuration()
    if let block = ProcessInfo.processInfo.environment["ALLOW"].flatMap(CIDR.init) {
      configuration.addressPolicy = AddressPolicy(allowing: [block])
    }
    let downloader = try Downloader(configuration)
    var failures = 0
    // If the task is cancelled, this loop cancels the remaining downloads and ends.
    for await ended in downloader.downloads(requests, maxConcurrent: maxConcurrent) {
      switch ended.result {
      case .success(let file):
        print("\(file.path): \(file.bytes) bytes")
      case .failure(let error):
        print("\(ended.request.url): \(error.message)")
        failures += 1
      }
    }
    // This call returns when the partial files are removed.
    await downloader.shutdown()
    return failures
  }

  static func request(_ url: String, into directory: String) -> DownloadRequest {
    var options = DownloadOptions()
    options.ifExists = .skip
    var retry = RetryPolicy()
    // By default, Haul waits up to an hour for a host that does not respond.
    retry.maxHostWait = .seconds(60)
    options.retry = retry
    let name = URL(string: url)?.lastPathComponent ?? ""
    return DownloadRequest(
      url, to: "\(directory)/\(name.isEmpty ? "index.html" : name)", options: options)
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
