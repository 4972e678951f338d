package import HaulSystem
package import Log
internal import Synchronization

/// Shows progress on standard error: in a region at the bottom of a terminal, or as an occasional line for a log.
///
/// Any thread may call it. Each call writes everything in one step, and waits for a slow reader. Text that cannot be written is
/// lost, because there is nowhere to report the error. While a region is shown, no other code may write to the terminal: use
/// `say` for messages.
package final class ProgressDisplay: Sendable {
  /// The form in which progress is shown.
  package enum Mode: Sendable {
    /// The display shows a region that is redrawn in place.
    case live
    /// The display writes a line at most every 5 seconds.
    case plain
    /// The display shows only warnings and errors.
    case quiet

    /// Chooses the mode: `quiet` if `isQuiet`, `live` if the screen can overwrite lines, otherwise `plain`.
    package init(for screen: Screen, isQuiet: Bool) {
      self = isQuiet ? .quiet : screen.height == nil ? .plain : .live
    }
  }

  /// The importance of a message.
  package enum Message: Sendable {
    /// A message with useful information. It is not shown in the mode `quiet`.
    case note
    /// A message that Haul skips a part of the request, or changes something else. The mode `quiet` also shows it.
    case warning
    case error
  }

  /// The shortest time between two frames of a region.
  private static let frameInterval = Duration.milliseconds(100)
  /// The minimum width of a shortened name in columns, even if the rest of its line is long.
  private static let leastName = 20
  /// The shortest time between two plain lines.
  private static let lineInterval = Duration.seconds(5)

  private struct State {
    var region = ProgressRegion()
    var height = SmoothedHeight()
    var frame: ProgressFrame?
    /// A sentence to show instead of a frame; nil to show the frame.
    var sentence: String?
    /// The time when a frame was last shown; nil if the next frame can be shown immediately. In plain mode it begins as the time
    /// when the display was created, so that the first line also appears only after 5 seconds.
    var shownAt: ContinuousClock.Instant?
    /// The last progress line that plain mode wrote, or nil before the first.
    var reported: String?
    /// Whether `frame` was written or drawn.
    var isShown = false
    var isFinished = false
    /// Whether the region is hidden, because the process is about to be suspended.
    var isHidden = false
  }

  private let stream: StandardStream
  private let mode: Mode
  private let label: String
  private let environment: [String: String]
  private let state: Mutex<State>

  /// Creates a display without writing anything. `label` is the command as typed, such as `haul submit`; plain lines begin with
  /// it. `environment` is the environment of the process, for NO_COLOR, TERM and the locale.
  package init(
    _ stream: StandardStream = .error, mode: Mode, label: String, environment: [String: String]
  ) {
    self.stream = stream
    self.mode = mode
    self.label = label
    self.environment = environment
    state = Mutex(State(shownAt: mode == .plain ? .now : nil))
  }

  /// Shows `frame`, unless the last frame was shown less than 100 ms ago (for a region) or 5 s ago (for lines). Each call reads
  /// the terminal's size. If the display shows a region, call this at least twice a second.
  package func show(_ frame: ProgressFrame) {
    show {
      $0.frame = frame
      $0.sentence = nil
    }
  }

  /// Shows a sentence instead of a frame, at most as often as frames.
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

  /// Writes `line` above the region, where it stays. The line is made safe for a terminal, and wrapped between words.
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

  /// Writes a line that contains `name`, a URL or a path, like ``say(_:as:)``. If the line is too long for the terminal, the
  /// middle of the name is left out.
  package func say(
    _ name: String, as message: Message = .note, in line: (_ name: String) -> String
  ) {
    let name = SafeText.visible(name)
    let rest = DisplayWidth.of(SafeText.visible(line("")))
    let width = Screen(stream, environment: environment).width ?? .max
    say(
      line(DisplayWidth.shortened(name, to: max(width - rest, Self.leastName))), as: message)
  }

  /// Removes the region from the terminal. The next frame is shown immediately.
  package func clear() {
    state.withLock { state in
      if mode == .live && !state.isFinished && mayDraw(state) { erase(&state) }
      if mode == .live { state.shownAt = nil }
    }
  }

  /// Removes the region until ``unhide()``. Call this before the process is suspended, because other programs then write to the
  /// terminal.
  package func hide() {
    state.withLock { state in
      if mode == .live && !state.isFinished && mayDraw(state) { erase(&state) }
      state.isHidden = true
    }
  }

  /// Shows the region again after ``hide()``.
  package func unhide() { state.withLock { $0.isHidden = false } }

  /// A log output that writes all lines with `say`.
  package var log: LogOutput {
    LogOutput { [self] line in
      say(String(decoding: line.dropLast(), as: UTF8.self), as: .error)
    }
  }

  /// Removes the region permanently. After this, `say` only writes lines. If plain lines were written, a last line shows the
  /// final state.
  package func finish() {
    state.withLock { state in
      if state.isFinished { return }
      if mode == .plain && state.reported != nil && !state.isShown { report(&state) }
      if mode == .live && mayDraw(state) { erase(&state) }
      state.isFinished = true
    }
  }

  /// Returns whether the region may be drawn. A background job would write over the text that the shell's user types. A process
  /// in the background has no region to remove: it was suspended before, or was never in the foreground.
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
    // An unchanged sentence is not worth another line.
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
  /// The frame as a sentence, without the parts that do not apply: `3 of 12 files, 1 failed, 4 running, 1.2/4.0 GiB, 12.3
  /// MiB/s, 3m04s left`.
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
