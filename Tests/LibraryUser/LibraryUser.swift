import FoundationEssentials
import Glibc
import HaulTransfer

/// A program that downloads with the library, for tests that measure or kill one, and for `scripts/bench transfer`:
///
///     LibraryUser list LIST DIRECTORY N        downloads the URLs in LIST under the last names of their paths,
///                                              N at a time
///     LibraryUser gauge URL DIRECTORY COUNT…   downloads as often as each COUNT says, eight at a time, and
///                                              says before and after each what the process holds
///     LibraryUser start URL DIRECTORY COUNT    starts so many downloads at once, and says what they took: milliseconds,
///                                              and KiB of memory at most
///     LibraryUser keep URL PATH DATA           goes on from the file DATA if it is there, and keeps it
///     LibraryUser starve URL DIRECTORY FREE [CA PORT]
///                                              downloads with no descriptors to spare, one, … up to FREE,
///                                              trusting CA for `tls.test` at PORT, and each time once more
///                                              with enough of them; says how each ended
///     LibraryUser queue LIST DEATH POLICY [URL PATH]…
///                                              opens a queue, adds to it, and kills itself at DEATH
///     LibraryUser move URL FIRST SECOND        starts downloads in one directory, and runs them in another
@main
enum LibraryUser {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    var configuration = Downloader.Configuration()
    configuration.addressPolicy = AddressPolicy(allowing: [CIDR("127.0.0.0/8")].compactMap(\.self))
    if arguments.first == "starve" {
      if arguments.count == 6 {
        configuration.caFile = arguments[4]
        configuration.resolve = ["tls.test:\(arguments[5]):127.0.0.1"]
      }
      return try await starve(
        configuration, arguments[1], in: arguments[2], upTo: Int(arguments[3]) ?? 0)
    }
    switch arguments.first {
    case "queue":
      return try await QueueUser.queue(
        configuration, arguments[1], death: arguments[2], arguments[3], arguments[4...])
    case "move":
      return try await QueueUser.move(
        configuration, arguments[1], from: arguments[2], to: arguments[3])
    default: break
    }
    let downloader = try Downloader(configuration)
    switch arguments.first {
    case "list":
      try await list(downloader, arguments[1], in: arguments[2], atOnce: Int(arguments[3]) ?? 1)
    case "gauge":
      try await gauge(
        downloader, arguments[1], in: arguments[2], counts: arguments[3...].compactMap { Int($0) })
    case "start":
      try await start(
        downloader, arguments[1], in: arguments[2], count: Int(arguments[3]) ?? 1)
    case "keep": try await keep(downloader, arguments[1], to: arguments[2], data: arguments[3])
    default: exit(64)
    }
  }

  private static func list(
    _ downloader: Downloader, _ list: String, in directory: String, atOnce count: Int
  ) async throws {
    let requests = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
      .map { url in
        DownloadRequest(String(url), to: "\(directory)/\(url.split(separator: "/").last ?? "")")
      }
    for await ended in downloader.downloads(
      requests, maxConcurrent: count, continueAfterFailure: false)
    {
      _ = try ended.result.get()
    }
    await downloader.shutdown()
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

  private static func start(
    _ downloader: Downloader, _ url: String, in directory: String, count: Int
  ) async throws {
    let began = ContinuousClock.now
    let downloads = (0..<count).map { downloader.start(url, to: "\(directory)/\($0)") }
    for download in downloads { _ = try await download.value }
    let time = Int64((ContinuousClock.now - began) / .milliseconds(1))
    say("\(time) \(try held().prefix { $0 != " " })")
    await downloader.shutdown()
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

  // MARK: - What it lacks

  private static func starve(
    _ configuration: Downloader.Configuration, _ url: String, in directory: String, upTo count: Int
  ) async throws {
    for free in 0...count {
      // One of its own each time, so that no connection and no name is known from before.
      let downloader = try Downloader(configuration)
      let taken = try takeDescriptors()
      for descriptor in taken.suffix(free) { close(descriptor) }
      let starved = await outcome(downloader, url, to: "\(directory)/\(free).a")
      for descriptor in taken.dropLast(free) { close(descriptor) }
      let fed = await outcome(downloader, url, to: "\(directory)/\(free).b")
      await downloader.shutdown()
      say("\(free) \(starved) \(fed)")
    }
  }

  /// Takes all descriptors that the process may have.
  private static func takeDescriptors() throws -> [Int32] {
    var taken: [Int32] = []
    while true {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return taken }
      taken.append(descriptor)
    }
  }

  private static func outcome(
    _ downloader: Downloader, _ url: String, to path: String
  ) async -> String {
    switch await downloader.start(url, to: path).result {
    case .success: "complete"
    case .failure(let error): error.errorClass.rawValue
    }
  }

  private static func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}
