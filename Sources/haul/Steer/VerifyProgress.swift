import HaulSystem
import Synchronization
import Terminal

/// The progress of a verification, and its speed.
struct VerifyPace: Sendable {
  /// The number of all files, and the bytes of files with a digest. Nil if they were not counted.
  private var total: (files: Int, bytes: Int64)?
  private var files = 0
  private var faults = 0
  /// The number of bytes of compared files that have a digest.
  private var bytes: Int64 = 0
  /// The number of bytes read from the current file.
  private var current: Int64 = 0
  private var bytesMeter = RateMeter()
  private var filesMeter = RateMeter()

  /// Stores the number of files and bytes to verify.
  mutating func begin(_ total: (files: Int, bytes: Int64), at now: ContinuousClock.Instant) {
    self.total = total
    measure(at: now)
  }

  /// Stores the number of bytes read from the current file.
  mutating func read(_ bytes: Int64, at now: ContinuousClock.Instant) {
    current = bytes
    measure(at: now)
  }

  /// Records the end of a file of `bytes` bytes. `faults` is the number of faulty files so far.
  mutating func end(bytes: Int64, faults: Int, at now: ContinuousClock.Instant) {
    files += 1
    self.bytes += bytes
    current = 0
    self.faults = faults
    measure(at: now)
  }

  private mutating func measure(at now: ContinuousClock.Instant) {
    bytesMeter.add(bytes + current, at: now)
    filesMeter.add(Int64(files), at: now)
  }

  /// The frame to show.
  var frame: ProgressFrame {
    // If there are no bytes to read, only files can be counted.
    let countsFiles = total?.bytes == 0
    let left = total.flatMap { total in
      countsFiles
        ? filesMeter.timeLeft(for: Int64(total.files - files))
        : bytesMeter.timeLeft(for: total.bytes - bytes - current)
    }
    return ProgressFrame(
      done: files - faults, failed: faults, all: total?.files, bytes: bytes + current,
      total: total?.bytes, countsFiles: countsFiles, rate: bytesMeter.rate, timeLeft: left)
  }
}

/// Shows the progress of a verification: files, bytes read, rate and remaining time.
final class VerifyProgress: Sendable {
  private let display: ProgressDisplay
  private let pace = Mutex(VerifyPace())

  init(on display: ProgressDisplay) { self.display = display }

  /// Changes the progress and shows it.
  func show(_ change: (inout VerifyPace) -> Void) {
    let frame = pace.withLock { pace in
      change(&pace)
      return pace.frame
    }
    display.show(frame)
  }
}
