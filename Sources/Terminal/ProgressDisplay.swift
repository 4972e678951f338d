package import HaulSystem
package import Log
internal import Synchronization

/// Progress on standard error: a region at the bottom of a terminal, or now and then a line for a log.
///
/// From any thread. Each call writes at once and whole, and so waits while the reader does not read; what
/// cannot be written is lost, since there is nowhere left to say so. While a region is shown, no other
/// code may write to the terminal: messages go through `say`.
package final class ProgressDisplay: Sendable {
  /// For whom it is.
  package enum Mode: Sendable {
    /// A region that is redrawn in place.
    case live
    /// A line now and then.
    case plain
    /// Only errors.
    case quiet

    /// Live only where lines can be overwritten.
    package init(for screen: Screen, isQuiet: Bool) {
      self = isQuiet ? .quiet : screen.height == nil ? .plain : .live
    }
  }

  /// What a message is.
  package enum Message: Sendable {
    /// Good to know; not said in quiet mode.
    case note
    case error
  }

  /// Between two frames of a region.
  private static let frameInterval = Duration.milliseconds(100)
  /// Columns of a name that is shortened, however long the rest of its line is.
  private static let leastName = 20
  /// Between two plain lines.
  private static let lineInterval = Duration.seconds(5)

  private struct State {
    var region = ProgressRegion()
    var height = SmoothedHeight()
    var frame: ProgressFrame?
    /// Shown instead of a frame.
    var sentence: String?
    /// When a frame was drawn last; in plain mode at first when the display was made.
    var shownAt: ContinuousClock.Instant?
    /// What plain mode has said last about how far it is; nil until then.
    var reported: String?
    /// Whether `frame` has been said, or drawn.
    var isShown = false
    var isFinished = false
    /// The process is about to be stopped.
    var isHidden = false
  }

  private let stream: StandardStream
  private let mode: Mode
  private let label: String
  private let environment: [String: String]
  private let state: Mutex<State>

  /// `label` begins plain lines: the command as typed, `haul submit`. `environment` is the process's:
  /// NO_COLOR, TERM and the locale count. Nothing is written yet.
  package init(
    _ stream: StandardStream = .error, mode: Mode, label: String, environment: [String: String]
  ) {
    self.stream = stream
    self.mode = mode
    self.label = label
    self.environment = environment
    state = Mutex(State(shownAt: mode == .plain ? .now : nil))
  }

  /// Shows `frame`, unless one was shown too short a time ago: 100 ms for a region, 5 s for lines. The
  /// terminal's size is looked up each time, so a region wants at least two calls a second.
  package func show(_ frame: ProgressFrame) {
    show {
      $0.frame = frame
      $0.sentence = nil
    }
  }

  /// Shows a sentence of its own words as often as a frame.
  package func show(_ sentence: String) { show { $0.sentence = sentence } }

  private func show(_ change: (inout State) -> Void) {
    state.withLock { state in
      if state.isFinished { return }
      change(&state)
      state.isShown = false
      let interval = mode == .live ? Self.frameInterval : Self.lineInterval
      if let shownAt = state.shownAt, shownAt.duration(to: .now) < interval { return }
      switch mode {
      case .live: if mayDraw(state) { draw(&state) }
      case .plain: report(&state)
      case .quiet: break
      }
    }
  }

  /// Writes `line`, which is made safe for a terminal and wrapped at its words there, above the region, where it stays.
  package func say(_ line: String, as message: Message = .note) {
    if mode == .quiet && message == .note { return }
    let line = SafeText.visible(line)
    state.withLock { state in
      let lines = DisplayWidth.wrapped(line, to: Screen(stream, environment: environment).width)
      if mode == .live && !state.isFinished && mayDraw(state) {
        draw(&state, messages: lines)
      } else {
        write(lines.map { $0 + "\n" }.joined())
      }
    }
  }

  /// Says `line` of `name`, a URL or a path, as ``say(_:as:)`` does. Where that is too long for one line of the terminal, the middle
  /// of the name is left out.
  package func say(
    _ name: String, as message: Message = .note, in line: (_ name: String) -> String
  ) {
    let name = SafeText.visible(name)
    let rest = DisplayWidth.of(SafeText.visible(line("")))
    let width = Screen(stream, environment: environment).width ?? .max
    say(
      line(DisplayWidth.shortened(name, to: max(width - rest, Self.leastName))), as: message)
  }

  /// Removes what is shown; the next that is shown is shown at once.
  package func clear() {
    state.withLock { state in
      if mode == .live && !state.isFinished && mayDraw(state) { erase(&state) }
      if mode == .live { state.shownAt = nil }
    }
  }

  /// Removes the region until ``unhide()``, for a process that is about to be stopped: others write below what is shown
  /// then.
  package func hide() {
    state.withLock { state in
      if mode == .live && !state.isFinished && mayDraw(state) { erase(&state) }
      state.isHidden = true
    }
  }

  /// Takes back ``hide()``.
  package func unhide() { state.withLock { $0.isHidden = false } }

  /// Takes the lines of a log, all of them, as `say` does.
  package var log: LogOutput {
    LogOutput { [self] line in
      say(String(decoding: line.dropLast(), as: UTF8.self), as: .error)
    }
  }

  /// Removes the region for good; later `say` just writes. If lines have shown the progress, a last line shows the end.
  package func finish() {
    state.withLock { state in
      if state.isFinished { return }
      if mode == .plain && state.reported != nil && !state.isShown { report(&state) }
      if mode == .live && mayDraw(state) { erase(&state) }
      state.isFinished = true
    }
  }

  /// A job in the background of a shell would write over what its user types. Nothing is shown when it gets there: it was
  /// stopped before, or has never been in the foreground.
  private func mayDraw(_ state: State) -> Bool { !state.isHidden && Screen.isInForeground(stream) }

  private func erase(_ state: inout State) {
    state.frame = nil
    state.sentence = nil
    draw(&state)
  }

  private func draw(_ state: inout State, messages: [String] = []) {
    let screen = Screen(stream, environment: environment)
    let columns = screen.width ?? 80
    let layout = ProgressLayout(
      hasColors: screen.hasColors, hasUnicode: Screen.hasUnicode(environment))
    state.height.settle(state.frame?.transfers.count ?? 0, at: .now)
    let frame = state.frame.map {
      layout.lines(
        $0, columns: columns, rows: screen.height ?? 24, height: state.height.lines)
    }
    let lines = state.sentence.map { [DisplayWidth.truncated($0, to: columns)] } ?? frame
    write(state.region.update(lines ?? [], messages: messages, columns: columns))
    state.shownAt = .now
    state.isShown = true
  }

  private func report(_ state: inout State) {
    guard let sentence = state.sentence ?? state.frame?.sentence else { return }
    // Nothing that has not changed is worth another line.
    if sentence != state.reported { write("\(label): \(sentence)\n") }
    state.reported = sentence
    state.shownAt = .now
    state.isShown = true
  }

  private func write(_ text: String) {
    if !text.isEmpty { try? stream.write(text) }
  }
}

extension ProgressFrame {
  /// `3 of 12 files, 1 failed, 4 running, 1.2/4.0 GiB, 12.3 MiB/s, 3m04s left`: without what does not
  /// apply.
  var sentence: String {
    var parts = [counts]
    if !transfers.isEmpty { parts.append("\(transfers.count) running") }
    parts.append(HumanFormat.bytes(bytes, of: total))
    if isOver { return parts.joined(separator: ", ") }
    if rate > 0 { parts.append(HumanFormat.rate(rate)) }
    if let left = timeLeft.flatMap(HumanFormat.timeLeft) { parts.append("\(left) left") }
    return parts.joined(separator: ", ")
  }
}
