internal import Glibc
internal import HaulCLinux
import HaulSystem
internal import Synchronization

/// The terminal of this process as a full screen. Keys arrive as the user types them, and drawing uses the terminal's alternate
/// screen.
///
/// Call ``leave()`` before the process ends. If the process ends without this call, for example because of SIGKILL, the
/// terminal stays in full-screen mode until the user runs `reset(1)`. Any thread may call the functions of this type. Nothing
/// is drawn after `leave` has begun.
package final class RawTerminal: Sendable {
  /// The result of reading from the terminal.
  package enum Input: Sendable, Equatable {
    case bytes([UInt8])
    /// Nothing arrived in time, or this process is not in the foreground.
    case nothing
    /// The terminal was closed.
    case end
  }

  private struct State {
    /// The terminal's settings before ``enter()``, or nil while the terminal is not taken over.
    var before: termios?
  }

  private static let input: Int32 = 0
  private static let output = StandardStream.output

  private let state = Mutex(State())

  /// Creates the full screen for the terminal of standard input and output. It does not change the terminal yet.
  package init() {}

  /// Returns whether standard input and output are a terminal that supports drawing. The variable TERM in `environment` names
  /// the kind of terminal.
  package static func isThere(environment: [String: String]) -> Bool {
    isatty(input) == 1 && Screen(output, environment: environment).height != nil
  }

  /// The current number of columns and rows of the terminal.
  package static var size: (columns: Int, rows: Int) {
    let columns = Int(haul_terminal_columns(output.rawValue))
    let rows = Int(haul_terminal_rows(output.rawValue))
    return (columns > 0 ? columns : 80, rows > 0 ? rows : 24)
  }

  /// Saves the terminal's settings and takes the terminal over. If the process is in the background, the kernel suspends it
  /// (SIGTTOU) until the shell moves it to the foreground.
  ///
  /// Ctrl-C and Ctrl-Z still send signals. Ctrl-\ and Ctrl-S do nothing, because the terminal could not be restored after them.
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
        // The value of _POSIX_VDISABLE on Linux.
        unsafe characters[Int(VQUIT)] = 0
      }
      guard unsafe tcsetattr(Self.input, TCSADRAIN, &settings) == 0 else { return }
      state.before = before
      try? Self.output.write(FullScreen.opening)
    }
  }

  /// Restores the terminal's settings. Does nothing if the terminal was not taken over.
  package func leave() {
    state.withLock { state in
      guard var before = state.before else { return }
      state.before = nil
      guard Screen.isInForeground(Self.output) else { return }
      try? Self.output.write(FullScreen.closing)
      _ = unsafe tcsetattr(Self.input, TCSADRAIN, &before)
    }
  }

  /// Writes the bytes from a ``FullScreen``. Returns false, and writes nothing, if this process is not allowed to draw now.
  package func draw(_ text: String) -> Bool {
    state.withLock { state in
      guard state.before != nil, Screen.isInForeground(Self.output) else { return false }
      try? Self.output.write(text)
      return true
    }
  }

  /// Sets the terminal up again if another program has changed it, such as a shell after SIGSTOP. Returns true if the caller
  /// must draw everything again.
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

  /// Waits at most `limit` for keys. Blocks, so call it on a separate thread.
  package func read(within limit: Duration) -> Input {
    var wait = pollfd(fd: Self.input, events: Int16(POLLIN), revents: 0)
    let milliseconds = Int32(limit / .milliseconds(1))
    let count = unsafe poll(&wait, 1, milliseconds)
    guard count > 0 else { return .nothing }
    // The program in the foreground must get the keys.
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
