import FoundationEssentials
import Glibc
import HaulSystem
package import JobModel
package import JobQueue
package import Postgres
import Terminal

/// Runs `haul top` in a terminal. It passes keys and results to the model, draws the screen, and carries out the model's
/// requests.
package struct TopScreen {
  private enum Event: Sendable {
    case key(Key)
    case resized(columns: Int, rows: Int)
    /// A second has passed.
    case tick
    /// Another program wrote on the screen.
    case disturbed
    case found(TopReader.Reading)
    /// The number of jobs that the current action has changed so far.
    case counted(Int)
    case done(String, isError: Bool)
    /// The terminal was closed (nil), or the pool cannot be read because of this error.
    case over((any Error)?)
  }

  /// A function that calls its argument with a queue on a separate connection.
  package typealias WithQueue =
    @Sendable (@Sendable (JobQueue) async throws -> String) async throws -> String
  /// A function that returns a sentence for any error. If the user lacks a right, the sentence names the role that has the
  /// right.
  package typealias Describe = @Sendable (any Error, PoolRole) -> String

  /// The time until a new terminal size is noticed, and until a single escape byte counts as the Escape key.
  private static let pulse = Duration.milliseconds(100)

  private let withQueue: WithQueue
  private let verify: TopAction.Verify
  private let describe: Describe
  private let environment = ProcessInfo.processInfo.environment
  private let terminal = RawTerminal()
  private let events: AsyncStream<Event>
  private let input: AsyncStream<Event>.Continuation
  private let reader: TopReader
  private let first: TopModel

  /// Creates a screen for `part` of the pool. It does nothing before ``run()``.
  package init(
    _ part: PoolPart, every interval: Duration, conninfo: String,
    schema: SchemaName,
    withQueue: @escaping WithQueue, verify: @escaping TopAction.Verify,
    describe: @escaping Describe
  ) {
    self.withQueue = withQueue
    self.verify = verify
    self.describe = describe
    let (events, input) = AsyncStream.makeStream(of: Event.self)
    (self.events, self.input) = (events, input)
    reader = TopReader(
      conninfo, schema: schema, of: part, every: interval, describe: { describe($0, .monitor) }
    ) { input.yield(.found($0)) }
    first = TopModel(part: part, interval: interval)
  }

  /// Runs until the user quits. The terminal is always restored, even after a signal.
  package func run() async throws {
    StopSignals.beforeEnding { [terminal] in terminal.leave() }
    StopSignals.aroundSuspension(
      { [terminal] in terminal.leave() },
      { [terminal, input] in
        terminal.enter()
        input.yield(.disturbed)
      })
    terminal.enter()
    defer { terminal.leave() }
    guard DetachedThread.start({ [terminal, input] in Self.readKeys(terminal, input) }) else {
      throw SystemError("pthread_create", nil, EAGAIN)
    }
    let reading = Task { [reader, input] in
      do {
        try await reader.run()
      } catch {
        input.yield(.over(error))
      }
    }
    defer { reading.cancel() }
    try await follow()
  }

  /// Waits for keys, and regularly checks the terminal's size and state. Blocks, so call it on a separate thread.
  private static func readKeys(_ terminal: RawTerminal, _ input: AsyncStream<Event>.Continuation) {
    var decoder = KeyDecoder()
    var size = (columns: 0, rows: 0)
    var tickAt = ContinuousClock.now
    while true {
      var keys: [Key] = []
      switch terminal.read(within: pulse) {
      case .bytes(let bytes): keys = decoder.keys(bytes)
      case .nothing: keys = decoder.flush()
      case .end:
        input.yield(.over(nil))
        return
      }
      if RawTerminal.size != size {
        size = RawTerminal.size
        input.yield(.resized(columns: size.columns, rows: size.rows))
      }
      if tickAt <= .now {
        tickAt = .now + .seconds(1)
        input.yield(terminal.retake() ? .disturbed : .tick)
      }
      for key in keys {
        if case .terminated = input.yield(.key(key)) { return }
      }
    }
  }

  private func follow() async throws {
    var model = first
    let screen = Screen(.output, environment: environment)
    let hasUnicode = Screen.hasUnicode(environment)
    var page = FullScreen(hasColors: screen.hasColors)
    for await event in events {
      let now = ContinuousClock.now
      switch event {
      case .over(let error?): throw error
      case .over(nil): return
      case .disturbed: page.invalidate()
      case .tick: model.pass(now)
      case .resized(let columns, let rows): model.size = (columns, rows)
      case .found(let finding): model.take(finding, at: now)
      case .counted(let jobs): model.count(jobs)
      case .done(let sentence, let isError):
        model.finish(sentence, isError: isError)
        reader.show(model.query, isChanged: true)
      case .key(let key):
        switch model.press(key, at: now) {
        case .quit: return
        case .redraw: page.invalidate()
        case .read: reader.show(model.query)
        case .perform(let action): perform(action)
        case nil: break
        }
      }
      model.scroll()
      reader.follow(model.query)
      let lines = TopFrame(model, at: now, hasUnicode: hasUnicode).lines
      let text = page.update(lines, columns: model.size.columns, rows: model.size.rows)
      if !text.isEmpty && !terminal.draw(text) { page.invalidate() }
    }
  }

  /// Performs the action on a separate connection, because a large batch takes long.
  private func perform(_ action: TopAction) {
    Task { [withQueue, verify, describe, input] in
      do {
        let sentence = try await withQueue { queue in
          try await action.perform(on: queue, verify: verify) { input.yield(.counted($0)) }
        }
        input.yield(.done(sentence, isError: false))
      } catch {
        input.yield(.done(describe(error, action.role), isError: true))
      }
    }
  }
}

extension TopModel {
  /// Passes a result of the reader to the model.
  package mutating func take(_ reading: TopReader.Reading, at now: ContinuousClock.Instant) {
    switch reading {
    case .since(let since): identify(since)
    case .figures(let figures): load(figures, at: now)
    case .leader(let leader): self.leader = .some(leader)
    case .waiting(let jobs): waiting = jobs
    case .workers(let workers): self.workers = workers
    case .rows(let pane, let page): load(page, of: pane, at: now)
    case .jobs(let search, let page): load(page, of: search, at: now)
    case .detail(let job, let report): load(report, of: job)
    case .trouble(let pane, let sentence): fail(sentence, of: pane)
    case .lost(let reason): lose(reason, at: now)
    }
  }
}
