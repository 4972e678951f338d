internal import Glibc
internal import HaulCLibcurl
import HaulSystem

/// The engine's loop, and the state that only its thread may touch.
@safe final class EngineThread {
  private let multi: UnsafeMutableRawPointer
  private let mailbox: EngineMailbox
  private let configuration: Engine.Configuration
  private let buffers: BufferGate
  private let gate: RateGate
  private let sockets = OpenSockets()
  /// The watchdog. libcurl closes sockets through it until the multi handle is gone.
  private let watch: EngineWatchdog
  private var running: [ObjectIdentifier: RunningExchange] = [:]
  private var idle: [EasyHandle]
  /// The allowed schemes, separated by commas. Joined once, and not for each handle.
  private let schemes: String
  private var isEnding = false
  private var nextTick = ContinuousClock.now

  private static let tickInterval = Duration.milliseconds(250)
  /// Whether curl_global_init(3) succeeded. It runs once per process.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private init(
    _ multi: UnsafeMutableRawPointer, _ mailbox: EngineMailbox, _ first: EasyHandle,
    _ configuration: Engine.Configuration, schemes: String
  ) {
    self.schemes = schemes
    unsafe self.multi = unsafe multi
    self.mailbox = mailbox
    self.configuration = configuration
    watch = first.watch
    idle = [first]
    gate = RateGate(configuration.rateLimit)
    let pool = BufferPool(capacity: 256 * 1024, limit: configuration.maxBuffers) {
      [mailbox] in mailbox.post(.buffersFreed)
    }
    buffers = BufferGate(pool)
  }

  /// Creates the multi handle, and starts the thread that owns it from then on.
  ///
  /// - Throws: `.io` if libcurl or the thread cannot start, or if libcurl refuses an option.
  static func start(_ configuration: Engine.Configuration) throws(TransferError) -> EngineMailbox {
    guard isReady, let multi = unsafe curl_multi_init() else {
      throw TransferError(.io, "cannot start libcurl")
    }
    do throws(TransferError) {
      // Creating a handle here shows immediately whether libcurl knows all options.
      let watch = EngineWatchdog(limit: configuration.stallTime.clamped * 2)
      let schemes = configuration.allowedSchemes.joined(separator: ",")
      let first = try EasyHandle(configuration, schemes: schemes, watch)
      let mailbox = unsafe EngineMailbox(multi)
      unsafe haul_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
      unsafe haul_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.maxConnections)
      try unsafe EngineThread(multi, mailbox, first, configuration, schemes: schemes).detach()
      return mailbox
    } catch {
      unsafe curl_multi_cleanup(multi)
      throw error
    }
  }

  private func detach() throws(TransferError) {
    // Only the new thread uses this object from here on.
    nonisolated(unsafe) let engine = self
    guard DetachedThread.start({ unsafe engine.run() }) else {
      throw TransferError(.io, "cannot start a thread for the engine")
    }
  }

  private func run() {
    let looking = Task { [watch] in await watch.keepLooking() }
    while !isEnding {
      watch.begin(now: .now)
      for message in mailbox.takeAll() { obey(message) }
      // Sweep before libcurl runs, so that an exchange that was cancelled before its start sends nothing.
      sweep()
      var stillRunning: Int32 = 0
      unsafe curl_multi_perform(multi, &stillRunning)
      settle()
      tick()
      gate.release(now: .now)
      sweep()
      if !isEnding { wait() }
    }
    letGo()
    looking.cancel()
  }

  private func obey(_ message: EngineMailbox.Message) {
    switch message {
    case .start(let order): start(order)
    case .attend(let handle): running[ObjectIdentifier(handle)]?.attend()
    case .buffersFreed: buffers.release()
    case .shutdown: isEnding = true
    }
  }

  private func start(_ order: PendingExchange, isFresh: Bool = false) {
    do throws(TransferError) {
      let limits = configuration.overridden(by: order.request)
      try limits.requireAllowedHost(of: order.request)
      try limits.requireFile(of: order.request)
      let easy: EasyHandle
      if let used = idle.popLast() {
        easy = used
      } else {
        easy = try EasyHandle(configuration, schemes: schemes, watch)
      }
      let exchange = RunningExchange(
        order, isFresh: isFresh || order.request.isFresh, easy: easy, buffers: buffers, gate: gate,
        sockets: sockets, limits: limits, now: .now)
      try join(exchange)
    } catch {
      order.refuse(.failed(error))
    }
  }

  // libcurl's callbacks get an unmanaged reference to the exchange. join retains the exchange, and leave releases it.

  private func join(_ exchange: RunningExchange) throws(TransferError) {
    let handle = exchange.order.handle
    precondition(running[ObjectIdentifier(handle)] == nil, "the handle already serves an exchange")
    let box = unsafe Unmanaged.passRetained(exchange)
    do throws(TransferError) {
      try unsafe exchange.easy.prepare(
        exchange.order.request, file: exchange.file, limits: exchange.limits,
        isFresh: exchange.isFresh, context: box.toOpaque())
      guard unsafe curl_multi_add_handle(multi, exchange.easy.raw) == CURLM_OK else {
        throw TransferError(.io, "libcurl cannot start another request")
      }
    } catch {
      unsafe box.release()
      throw error
    }
    running[ObjectIdentifier(handle)] = exchange
    handle.attach { [mailbox] in mailbox.post(.attend(handle)) }
    exchange.attend()
  }

  private func leave(_ exchange: RunningExchange) {
    let handle = exchange.order.handle
    handle.detach()
    gate.forget(exchange)
    buffers.forget(exchange)
    running[ObjectIdentifier(handle)] = nil
    // This closes the connection if the exchange was not complete.
    unsafe curl_multi_remove_handle(multi, exchange.easy.raw)
    // libcurl keeps a Digest challenge in the handle and would use it for another server.
    let isClean = !exchange.hasMetDigest && EasyHandle.isReusable
    if isClean, idle.count < configuration.maxConnections { idle.append(exchange.easy) }
    unsafe Unmanaged.passUnretained(exchange).release()
  }

  private func finish(_ exchange: RunningExchange, _ finished: CurlEnd?) {
    leave(exchange)
    exchange.order.continuation.resume(returning: exchange.finish(finished))
  }

  /// Ends the exchanges that libcurl has finished. Starts an exchange again if a reused connection failed, or if libcurl could
  /// not read the response's length.
  private func settle() {
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(multi, &left) {
      guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
      let code = unsafe message.pointee.data.result
      guard let context = unsafe EasyHandle.context(of: message.pointee.easy_handle) else {
        continue
      }
      let exchange = unsafe Unmanaged<RunningExchange>.fromOpaque(context).takeUnretainedValue()
      let finished = CurlEnd(code, detail: exchange.easy.errorSentence)
      if exchange.deservesFreshConnection(after: finished) {
        leave(exchange)
        start(exchange.order, isFresh: true)
      } else if exchange.hasUnreadableLength(after: finished) {
        leave(exchange)
        var order = exchange.order
        order.request.engineReadsLength = true
        start(order, isFresh: true)
      } else {
        finish(exchange, finished)
      }
    }
  }

  private func tick() {
    let now = ContinuousClock.now
    guard now >= nextTick else { return }
    nextTick = now + Self.tickInterval
    for exchange in running.values { exchange.tick(now: now) }
  }

  /// Ends the exchanges that Haul itself has decided to end, although libcurl would continue them.
  private func sweep() {
    for exchange in running.values where exchange.ending != nil { finish(exchange, nil) }
  }

  private func wait() {
    // If no exchange is running, only a message brings work, and every message wakes the poll.
    var limit: Duration = running.isEmpty ? .seconds(60) : Self.tickInterval
    if let rate = gate.wait(now: .now) { limit = min(limit, rate + .milliseconds(1)) }
    watch.end()
    unsafe curl_multi_poll(multi, nil, 0, Int32(limit.milliseconds), nil)
  }

  private func letGo() {
    for message in mailbox.close() {
      if case .start(let order) = message { order.refuse(.cancelled) }
    }
    for exchange in running.values {
      exchange.end(.cancelled)
      finish(exchange, nil)
    }
    idle = []
    unsafe curl_multi_cleanup(multi)
    mailbox.ended()
  }
}
