import Arguments
import FoundationEssentials
import HaulSystem
import JobQueue
import Postgres
import Terminal

/// `haul top` in a terminal: keys and findings go to its model, whose picture is drawn and whose requests are done here.
struct TopScreen {
  private enum Event: Sendable {
    case key(Key)
    case resized(columns: Int, rows: Int)
    /// Comes every second.
    case tick
    /// Somebody else has written on the screen.
    case disturbed
    case found(TopReader.Finding)
    /// So many jobs so far of what is being done.
    case counted(Int)
    case done(String, isError: Bool)
    /// The terminal is gone, or the pool cannot be read.
    case over((any Error)?)
  }

  /// So soon a terminal's new size is noticed, and an escape that stands alone is one.
  private static let pulse = Duration.milliseconds(100)

  private let database: DatabaseOptions
  private let environment = ProcessInfo.processInfo.environment
  private let terminal = RawTerminal()
  private let events: AsyncStream<Event>
  private let input: AsyncStream<Event>.Continuation
  private let reader: TopReader
  private let first: TopModel

  /// Watches `part` of the pool; nothing happens before ``run()``.
  init(_ part: PoolPart, every interval: Duration, _ database: DatabaseOptions) {
    self.database = database
    let (events, input) = AsyncStream.makeStream(of: Event.self)
    (self.events, self.input) = (events, input)
    reader = TopReader(database.conninfo, of: part, every: interval) { input.yield(.found($0)) }
    first = TopModel(part: part, interval: interval)
  }

  /// Returns when the user has quit. However it ends, by a signal too, the terminal is as it was before.
  func run() async throws {
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
      throw ExitError(.tryAgain, "no thread can be started.")
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

  /// Waits for keys, and looks at the terminal's size and state now and then. For a thread of its own.
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
      case .tick: break
      case .resized(let columns, let rows): model.size = (columns, rows)
      case .found(let finding): model.take(finding, at: now)
      case .counted(let jobs): model.count(jobs)
      case .done(let sentence, let isError):
        model.finish(sentence, isError: isError)
        reader.show(model.pane)
      case .key(let key):
        switch model.press(key) {
        case .quit: return
        case .redraw: page.invalidate()
        case .read: reader.show(model.pane)
        case .perform(let action): perform(action)
        case nil: break
        }
      }
      model.scroll()
      let lines = TopFrame(model, at: now, hasUnicode: hasUnicode).lines
      let text = page.update(lines, columns: model.size.columns, rows: model.size.rows)
      if !text.isEmpty && !terminal.draw(text) { page.invalidate() }
    }
  }

  /// On a connection of its own: a large batch takes its time.
  private func perform(_ action: TopAction) {
    Task { [database, input] in
      do {
        let sentence = try await database.withQueue { queue in
          try await action.perform(on: queue) { input.yield(.counted($0)) }
        }
        input.yield(.done(sentence, isError: false))
      } catch {
        let error = ExitError(from: error, role: action.role)
        input.yield(.done(error.message ?? "it failed", isError: true))
      }
    }
  }
}

extension TopModel {
  /// What a reader has found.
  mutating func take(_ finding: TopReader.Finding, at now: ContinuousClock.Instant) {
    switch finding {
    case .since(let since): identify(since)
    case .figures(let figures): load(figures, at: now)
    case .leader(let leader): self.leader = .some(leader)
    case .waiting(let jobs): waiting = jobs
    case .rows(let pane, let rows, let isCut): load(rows, isCut: isCut, of: pane, at: now)
    case .trouble(let pane, let sentence): fail(sentence, of: pane)
    case .lost(let reason): lose(reason, at: now)
    }
  }
}
