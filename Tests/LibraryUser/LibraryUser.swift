import FoundationEssentials
import Glibc
import Transfer

/// A program that downloads with the library, for tests that measure or kill one:
///
///     LibraryUser gauge URL DIRECTORY COUNT…   downloads as often as each COUNT says, eight at a time, and
///                                              says before and after each what the process holds
///     LibraryUser keep URL PATH DATA           goes on from the file DATA if it is there, and keeps it
@main
enum LibraryUser {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    var configuration = Engine.Configuration()
    configuration.addressPolicy = AddressPolicy(allowing: [CIDR("127.0.0.0/8")].compactMap(\.self))
    let downloader = try Downloader(configuration)
    switch arguments.first {
    case "gauge":
      try await gauge(
        downloader, arguments[1], in: arguments[2], counts: arguments[3...].compactMap { Int($0) })
    case "keep": try await keep(downloader, arguments[1], to: arguments[2], data: arguments[3])
    default: exit(64)
    }
  }

  // MARK: - What it holds

  private static func gauge(
    _ downloader: Downloader, _ url: String, in directory: String, counts: [Int]
  ) async throws {
    try say(held())
    for count in counts {
      let list = (0..<count).lazy.map { DownloadRequest(url, to: "\(directory)/\($0)") }
      for await ended in downloader.downloads(Array(list), maxConcurrent: 8) {
        try FileManager.default.removeItem(atPath: ended.result.get().path)
      }
      try say(held())
    }
  }

  /// Peak and present memory in KiB, and open descriptors.
  private static func held() throws -> String {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let sizes = ["VmHWM:", "VmRSS:"].map { name in
      status.split(separator: "\n").first { $0.hasPrefix(name) }?.filter(\.isNumber) ?? ""
    }
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    return "\(sizes[0]) \(sizes[1]) \(descriptors)"
  }

  // MARK: - What outlives it

  private static func keep(
    _ downloader: Downloader, _ url: String, to path: String, data dataPath: String
  ) async throws {
    // Article PauseAndResume
    let download =
      if let json = FileManager.default.contents(atPath: dataPath) {
        downloader.start(resumingFrom: try ResumeData(json: Array(json)), to: path)
      } else {
        downloader.start(url, to: path)
      }
    var saved: ResumeData?
    for await _ in download.progress {
      guard let data = download.resumeData, data != saved else { continue }
      try Data(data.json()).write(to: URL(filePath: dataPath), options: .atomic)
      saved = data
      say("saved \(data.bytes)")
    }
    let file = try await download.value
    try FileManager.default.removeItem(atPath: dataPath)
    say("complete \(file.bytes)")
    // End
  }

  private static func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}
