import FoundationEssentials
import Glibc
import HaulTransfer

/// Queues with a list, in a process that dies or changes its working directory.
enum QueueUser {
  /// Opens the queue of LIST, says what is in it, adds a download for each URL and PATH, and says how each ends. The process kills
  /// itself at DEATH: `response`, `finished` (before the queue receives the end), `value` or `never`.
  static func queue(
    _ configuration: Downloader.Configuration, _ list: String, death: String, _ policy: String,
    _ rest: ArraySlice<String>
  ) async throws {
    let downloader = try Downloader(configuration, monitor: Death(death))
    let queue = try DownloadQueue(downloader, list: list, isSuspended: true)
    for download in queue.downloads { say("listed \(name(download.request.path))") }
    let words = Array(rest)
    for index in stride(from: 0, to: words.count - 1, by: 2) {
      let (url, path) = (words[index], words[index + 1])
      var request =
        path.hasSuffix("/") ? DownloadRequest(url, in: path) : DownloadRequest(url, to: path)
      request.options.ifExists = CollisionPolicy(rawValue: policy) ?? .fail
      queue.start(request)
    }
    // The list has all of them before the first begins.
    try await queue.save()
    let downloads = queue.downloads
    queue.isSuspended = false
    for download in downloads {
      switch await download.result {
      case .success(let file):
        if death == "value" { die() }
        say("complete \(name(file.path))")
      case .failure(let error): say("failed \(name(download.request.path)) \(error.errorClass)")
      }
    }
    try await queue.save()
    await downloader.shutdown()
  }

  /// Starts downloads of URL to `a`, and in a queue with the list `list` to `b`, in the directory FIRST, and runs them in the
  /// directory SECOND.
  static func move(
    _ configuration: Downloader.Configuration, _ url: String, from first: String,
    to second: String
  ) async throws {
    let downloader = try Downloader(configuration)
    guard unsafe chdir(first) == 0 else { exit(66) }
    let plain = DownloadQueue(downloader)
    plain.isSuspended = true
    let listed = try DownloadQueue(downloader, list: "list", isSuspended: true)
    let downloads = [plain.start(url, to: "a"), listed.start(url, to: "b")]
    guard unsafe chdir(second) == 0 else { exit(66) }
    say("listed \(listed.downloads.map(\.request.path))")
    plain.isSuspended = false
    listed.isSuspended = false
    for download in downloads { say("complete \(try await download.value.path)") }
    try await listed.save()
    await plain.remove(downloads[0], deletingFile: true)
    await downloader.shutdown()
  }

  /// Kills the process at an event.
  private final class Death: DownloadMonitor {
    private let event: String

    init(_ event: String) { self.event = event }

    func handle(_ event: DownloadEvent, of download: Download) {
      switch event {
      case .response where self.event == "response": die()
      case .finished where self.event == "finished": die()
      default: break
      }
    }
  }

  private static func die() { kill(getpid(), SIGKILL) }

  private static func name(_ path: String) -> String {
    String(path.split(separator: "/").last ?? "")
  }

  private static func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}
