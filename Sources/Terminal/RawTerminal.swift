internal import Glibc
internal import HaulCLinux
import HaulSystem
internal import Synchronization

/// The terminal of this process as a full screen: keys come as they are typed, and its other page is drawn on.
///
/// Call ``leave()`` before the process ends, or the terminal stays in this state until `reset(1)`. After SIGKILL it does
/// stay so. From any thread; nothing is drawn any more once `leave` has begun.
package final class RawTerminal: Sendable {
  /// What is read when there is something to read.
  package enum Input: Sendable, Equatable {
    case bytes([UInt8])
    /// Nothing came in time, or this process is not in the foreground.
    case nothing
    /// The terminal is gone.
    case end
  }

  private struct State {
    /// The terminal's settings before ``enter()``; nil outside of it.
    var before: termios?
  }

  private static let input: Int32 = 0
  private static let output = StandardStream.output

  private let state = Mutex(State())

  /// The terminal behind standard input and output; nothing is changed yet.
  package init() {}

  /// Whether there is a terminal at both ends, and one that can be drawn on, by what `environment` says of it in TERM.
  package static func isThere(environment: [String: String]) -> Bool {
    isatty(input) == 1 && Screen(output, environment: environment).height != nil
  }

  /// Columns and rows of the terminal now.
  package static var size: (columns: Int, rows: Int) {
    let columns = Int(haul_terminal_columns(output.rawValue))
    let rows = Int(haul_terminal_rows(output.rawValue))
    return (columns > 0 ? columns : 80, rows > 0 ? rows : 24)
  }

  /// Takes the terminal, as it is now; in the background of its shell only once that moves the process to the foreground, since
  /// it is stopped until then (SIGTTOU).
  ///
  /// Ctrl-C and Ctrl-Z stay signals; Ctrl-\ and Ctrl-S do nothing, because the terminal would not be restored after them.
  package func enter() {
    state.withLock { state in
      guard state.before == nil else { return }
      var settings = termios()
      guard unsafe tcgetattr(Self.input, &settings) == 0 else { return }
      let before = settings
      settings.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN)
      settings.c_iflag &= ~tcflag_t(IXON)
      unsafe withUnsafeMutableBytes(of: &settings.c_cc) { characters in
        unsafe characters[Int(VMIN)] = 1
        unsafe characters[Int(VTIME)] = 0
        // _POSIX_VDISABLE of Linux.
        unsafe characters[Int(VQUIT)] = 0
      }
      guard unsafe tcsetattr(Self.input, TCSADRAIN, &settings) == 0 else { return }
      state.before = before
      try? Self.output.write(FullScreen.opening)
    }
  }

  /// Gives the terminal back as it was; nothing where it is not taken.
  package func leave() {
    state.withLock { state in
      guard var before = state.before else { return }
      state.before = nil
      guard Screen.isInForeground(Self.output) else { return }
      try? Self.output.write(FullScreen.closing)
      _ = unsafe tcsetattr(Self.input, TCSADRAIN, &before)
    }
  }

  /// Writes what a ``FullScreen`` gives; false where nothing may be drawn now, and nothing was.
  package func draw(_ text: String) -> Bool {
    state.withLock { state in
      guard state.before != nil, Screen.isInForeground(Self.output) else { return false }
      try? Self.output.write(text)
      return true
    }
  }

  /// Sets the terminal up again if another program has changed it meanwhile, like a shell after SIGSTOP. Returns whether it
  /// did; then draw everything again.
  package func retake() -> Bool {
    let isOthers = state.withLock { state in
      guard state.before != nil, Screen.isInForeground(Self.output) else { return false }
      var settings = termios()
      guard unsafe tcgetattr(Self.input, &settings) == 0,
        settings.c_lflag & tcflag_t(ICANON) != 0
      else { return false }
      state.before = nil
      return true
    }
    if isOthers { enter() }
    return isOthers
  }

  /// Waits for keys, at most so long. For a thread of its own.
  package func read(within limit: Duration) -> Input {
    var wait = pollfd(fd: Self.input, events: Int16(POLLIN), revents: 0)
    let milliseconds = Int32(limit / .milliseconds(1))
    let count = unsafe poll(&wait, 1, milliseconds)
    guard count > 0 else { return .nothing }
    // Whoever has the terminal now is to get it.
    guard state.withLock({ $0.before != nil }), Screen.isInForeground(Self.output) else {
      usleep(UInt32(milliseconds) * 1000)
      return .nothing
    }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let length = unsafe bytes.withUnsafeMutableBytes {
      unsafe Glibc.read(Self.input, $0.baseAddress, $0.count)
    }
    if length < 0 && [EINTR, EAGAIN].contains(errno) { return .nothing }
    return length > 0 ? .bytes(Array(bytes.prefix(length))) : .end
  }
}
