import HaulTransfer
import Synchronization
import TestSupport

/// Keeps what an exchange delivers, and answers as the test wants.
final class Recorder: BodySink {
  struct Log: Sendable {
    var head: ResponseHead?
    var heads = 0
    var bytes: [UInt8] = []
    var count: Int64 = 0
    var buffers = 0
  }

  let log = Watched(Log())
  private let headVerdict: HeadVerdict
  private let keepsBytes: Bool
  private let onBody: @Sendable (Log) -> BodyVerdict

  init(
    head: HeadVerdict = .accept, keepsBytes: Bool = true,
    onBody: @escaping @Sendable (Log) -> BodyVerdict = { _ in .more }
  ) {
    headVerdict = head
    self.keepsBytes = keepsBytes
    self.onBody = onBody
  }

  func head(_ head: ResponseHead) -> HeadVerdict {
    log.update {
      $0.head = head
      $0.heads += 1
    }
    return headVerdict
  }

  func body(_ buffer: GatherBuffer) -> BodyVerdict {
    let (keeps, onBody) = (keepsBytes, onBody)
    return log.update { log in
      log.count += Int64(buffer.count)
      log.buffers += 1
      if keeps { unsafe buffer.withBytes { unsafe log.bytes.append(contentsOf: $0) } }
      return onBody(log)
    }
  }

  /// Waits until that many bytes have come.
  func received(_ count: Int64) async throws {
    try await log.first("\(count) bytes received") { $0.count >= count ? () : nil }
  }
}

extension Engine.Configuration {
  /// Loopback is allowed, and waits are short enough for a test to see their end.
  static var test: Self {
    var configuration = Self()
    // A machine that runs many tests may take its time.
    configuration.connectTimeout = .seconds(120)
    configuration.addressPolicy = AddressPolicy(allowing: [CIDR("127.0.0.0/8")].compactMap(\.self))
    return configuration
  }
}

/// An engine for the length of `body`.
func withEngine<Result>(
  _ configuration: Engine.Configuration = .test,
  _ body: (Engine) async throws -> Result
) async throws -> Result {
  let engine = try Engine(configuration)
  do {
    let result = try await body(engine)
    await engine.shutdown()
    return result
  } catch {
    await engine.shutdown()
    throw error
  }
}

extension Engine {
  /// Fetches into a new recorder.
  func fetch(_ url: String, _ sink: Recorder = Recorder()) async -> (ExchangeResult, Recorder.Log) {
    let result = await perform(ExchangeRequest(url: url), sink: sink)
    return (result, sink.log.value)
  }
}

extension ExchangeOutcome {
  /// The error of a failure; nil for every other outcome.
  var error: TransferError? {
    if case .failed(let error) = self { error } else { nil }
  }

  /// The class of a failure; nil for every other outcome.
  var failure: TransferError.Class? { error?.errorClass }

  var isTruncated: Bool {
    if case .truncated = self { true } else { false }
  }

  var isStalled: Bool {
    if case .stalled = self { true } else { false }
  }
}
