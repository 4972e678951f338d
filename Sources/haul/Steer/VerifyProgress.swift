import HaulSystem
import Synchronization
import Terminal

/// How far a verification is, and how fast it gets on.
struct VerifyPace: Sendable {
  /// Files in all, and bytes of those with a digest; nil where they were not counted.
  private var total: (files: Int, bytes: Int64)?
  private var files = 0
  private var faults = 0
  /// Bytes of the finished files that have a digest.
  private var bytes: Int64 = 0
  /// Bytes read of the file under way.
  private var current: Int64 = 0
  private var bytesMeter = RateMeter()
  private var filesMeter = RateMeter()

  /// Takes the number of files and of bytes that are to be read.
  mutating func begin(_ total: (files: Int, bytes: Int64), at now: ContinuousClock.Instant) {
    self.total = total
    measure(at: now)
  }

  /// Takes the number of bytes that have been read of the file under way.
  mutating func read(_ bytes: Int64, at now: ContinuousClock.Instant) {
    current = bytes
    measure(at: now)
  }

  /// Records the end of a file of `bytes` bytes. `faults` is the number of faulty files until now.
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

  /// What is shown of it.
  var frame: ProgressFrame {
    // Where nothing is to be read, files are all there is to count.
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

/// Shows how far a verification is: files, bytes read, rate and time left.
final class VerifyProgress: Sendable {
  private let display: ProgressDisplay
  private let pace = Mutex(VerifyPace())

  init(on display: ProgressDisplay) { self.display = display }

  /// Changes what is known, and shows it.
  func show(_ change: (inout VerifyPace) -> Void) {
    let frame = pace.withLock { pace in
      change(&pace)
      return pace.frame
    }
    display.show(frame)
  }
}
