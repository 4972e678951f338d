import FoundationEssentials
import Glibc
import HaulTransfer
import Synchronization

// Tests code that downloads files, without network and disk:
//
//     Tested                       checks Release with a fake, and exits with 1 if a check fails
//     Tested DIRECTORY URL NAME…   downloads each URL/NAME with the same code, and exits with 1 if a download fails
//
// To allow private addresses, set `ALLOW` to a block of them, such as `ALLOW=192.168.0.0/16`.

/// Runs the same script for each download.
struct FakeDownloads: Downloading {
  let script: @Sendable (DownloadScript) async throws -> DownloadedFile

  func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
    Download(request, script: script)
  }
}

/// Counts failed checks. In your package, a test target would contain these checks.
struct Checks {
  var failures = 0

  mutating func expect(_ isRight: Bool, _ what: String) {
    print(isRight ? "ok: \(what)" : "FAILED: \(what)")
    if !isRight { failures += 1 }
  }
}

func check() async -> Int {
  var checks = Checks()

  let success = FakeDownloads { DownloadedFile(path: $0.request.path, bytes: 100) }
  var summary = await Release(url: "https://example.org", downloads: success)
    .fetch(["a", "b"], into: "/none")
  checks.expect(summary == .init(complete: ["a", "b"]), "complete files are listed in order")

  let failure = FakeDownloads { script in
    if script.request.url.hasSuffix("/a") {
      throw TransferError(.http404, "the server answers 404", status: 404)
    }
    throw TransferError(.timeout, "nothing came for 60 s")
  }
  summary = await Release(url: "https://example.org", downloads: failure)
    .fetch(["a", "b"], into: "/none")
  checks.expect(summary.missing == ["a"], "a file that the server does not have is missing")
  checks.expect(summary.failed == ["b": "nothing came for 60 s"], "other errors keep their message")

  // Observers see only samples of the progress, so the script waits until 50 % has been reported.
  let (halves, half) = AsyncStream.makeStream(of: Void.self)
  let steps = FakeDownloads { script in
    script.send(DownloadProgress(bytes: 50, expected: 100, rate: 10))
    for await _ in halves { break }
    return DownloadedFile(path: script.request.path, bytes: 100)
  }
  let seen = Mutex<[Double]>([])
  summary = await Release(url: "https://example.org", downloads: steps)
    .fetch(["a"], into: "/none") { _, fraction in
      seen.withLock { if $0.last != fraction { $0.append(fraction) } }
      if fraction == 0.5 { half.yield() }
    }
  checks.expect(seen.withLock { $0 } == [0.5, 1], "progress is reported up to the end")

  // A script may wait in any call that ends when its task is cancelled.
  let endless = FakeDownloads { script in
    try await Task.sleep(for: .seconds(3600))
    return DownloadedFile(path: script.request.path, bytes: 0)
  }
  let download = endless.start("https://example.org/a", to: "/none/a")
  download.cancel()
  let result = await download.result
  checks.expect(result.error?.errorClass == .cancelled, "a cancelled download fails as cancelled")
  return checks.failures
}

extension Result {
  var error: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.count {
case 0: exit(await check() == 0 ? 0 : 1)
case 1, 2:
  print("usage: Tested [DIRECTORY URL NAME…]")
  exit(64)
default:
  var configuration = Downloader.Configuration()
  if let block = ProcessInfo.processInfo.environment["ALLOW"].flatMap(CIDR.init) {
    configuration.addressPolicy = AddressPolicy(allowing: [block])
  }
  let downloader = try Downloader(configuration)
  let summary = await Release(url: arguments[1], downloads: downloader)
    .fetch(Array(arguments[2...]), into: arguments[0])
  await downloader.shutdown()
  print("complete \(summary.complete), missing \(summary.missing), failed \(summary.failed)")
  exit(summary.missing.isEmpty && summary.failed.isEmpty ? 0 : 1)
}
