import HaulTransfer
import TestSupport
import Testing

/// Times and numbers at the ends of their types: a program may read them from its own settings.
@Suite(.timeLimit(.minutes(5)))
struct ExtremeOptionsTests {
  private static let times: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.min), .seconds(1.7e20), .seconds(-1.7e20), .zero,
    .nanoseconds(1),
  ]

  /// Waits for a busy host, and tries nothing else again.
  private static var patient: DownloadOptions {
    var options = DownloadOptions()
    options.retry = RetryPolicy()
    options.retry?.maxAttempts = 1
    options.timeout = .seconds(60)
    return options
  }

  /// Downloads a file from a server that is busy the first time. Returns the failure.
  private func failure(
    _ options: DownloadOptions, _ configuration: Downloader.Configuration = .test
  ) async throws -> TransferError? {
    let directory = try TemporaryDirectory()
    let origin = try OriginServer { request, reply in
      if request.number == 1 {
        return try reply.head("HTTP/1.1 429 Busy\nRetry-After: 0\nContent-Length: 0")
      }
      try Representation(seed: 1, length: 100_000).answer(request, reply)
    }
    let downloader = try Downloader(configuration)
    let download = downloader.start(origin.url("/a"), to: directory.path("a"), options: options)
    guard case .failure(let error) = await download.result else { return nil }
    return error
  }

  @Test(arguments: times)
  func `no time of a download is too much for the library`(_ time: Duration) async throws {
    let settings: [WritableKeyPath<DownloadOptions, Duration?>] = [
      \.connectTimeout, \.stallTimeout, \.timeout,
    ]
    for setting in settings {
      var options = Self.patient
      options[keyPath: setting] = time
      let failure = try await failure(options)
      #expect(time < .seconds(1) || failure == nil, "\(failure?.message ?? "")")
    }
    var options = Self.patient
    options.retry?.maxHostWait = time
    let failure = try await failure(options)
    #expect(time < .seconds(1) || failure == nil, "\(failure?.message ?? "")")
  }

  @Test(arguments: times)
  func `no time of a downloader is too much for the library`(_ time: Duration) async throws {
    let settings: [WritableKeyPath<Downloader.Configuration, Duration>] = [
      \.connectTimeout, \.responseTimeout, \.stallTime, \.dnsCacheTime,
    ]
    for setting in settings {
      var configuration = Downloader.Configuration.test
      configuration[keyPath: setting] = time
      let failure = try await failure(Self.patient, configuration)
      #expect(time < .seconds(1) || failure == nil, "\(failure?.message ?? "")")
    }
  }

  @Test(arguments: [Int64.max, 0, .min])
  func `no number is too much for the library`(_ number: Int64) async throws {
    var configuration = Downloader.Configuration.test
    configuration.stallFloor = number
    if number > 0 { configuration.rateLimit = RateLimit(bytesPerSecond: number) }
    var options = Self.patient
    options.retry?.maxAttempts = Int(number)
    options.maximumLength = number
    let failure = try await failure(options, configuration)
    #expect(number <= 0 || failure == nil, "\(failure?.message ?? "")")
  }
}
