import FoundationEssentials
import Glibc
import Transfer

/// Downloads a list with the library alone, without a queue: `DownloadList LIST DIR N` brings the URLs in LIST into DIR,
/// under the last names of their paths, N at a time. `scripts/bench transfer` puts it beside `haul get`.
@main
enum DownloadList {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let count = Int(arguments[3]), count > 0 else {
      print("usage: DownloadList LIST DIR N")
      exit(64)
    }
    let requests = try String(contentsOfFile: arguments[1], encoding: .utf8).split(separator: "\n")
      .map { url in
        let name = url.split(separator: "/").last ?? ""
        return DownloadRequest(String(url), to: "\(arguments[2])/\(name)")
      }
    var configuration = Engine.Configuration()
    configuration.addressPolicy = .unrestricted
    let downloader = try Downloader(configuration)
    for await ended in downloader.downloads(
      requests, maxConcurrent: count, continueAfterFailure: false)
    {
      _ = try ended.result.get()
    }
    await downloader.shutdown()
  }
}
