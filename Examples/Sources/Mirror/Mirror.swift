import HaulTransfer

/// Downloads a few URLs into a directory, four at a time: `Mirror DIRECTORY URL…`.
@main
enum Mirror {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard let directory = arguments.first, arguments.count > 1 else {
      print("usage: Mirror DIRECTORY URL…")
      return
    }
    let requests = arguments.dropFirst().map { url in
      DownloadRequest(url, to: "\(directory)/\(url.split(separator: "/").last ?? "index")")
    }
    let downloader = try Downloader()
    for await ended in downloader.downloads(
      requests, maxConcurrent: 4, continueAfterFailure: true)
    {
      switch ended.result {
      case .success(let file): print("\(file.path): \(file.bytes) bytes")
      case .failure(let error): print("\(ended.request.url): \(error.message)")
      }
    }
    await downloader.shutdown()
  }
}
