import FoundationEssentials
import Glibc
import HaulTransfer

/// Shows downloads as moving bars on a terminal, or as lines in a pipe or a file.
struct Screen {
  private let isTerminal = isatty(STDOUT_FILENO) == 1

  /// Shows the downloads until all have ended.
  func show(_ downloads: [Download]) async {
    var shown: [String] = []
    while true {
      // Check this first, so that the last picture shows how each download ended.
      let isOver = downloads.allSatisfy { $0.state == .finished }
      var lines: [String] = []
      for download in downloads { lines.append(await line(for: download)) }
      if isTerminal {
        redraw(lines, over: shown.count)
      } else {
        for (index, line) in lines.enumerated() where shown.isEmpty || shown[index] != line {
          print(line)
        }
      }
      shown = lines
      if isOver { return }
      try? await Task.sleep(for: .milliseconds(250))
    }
  }

  /// Moves the cursor up to the first line and writes each line in the place of the old one.
  private func redraw(_ lines: [String], over count: Int) {
    var text = count > 0 ? "\u{1B}[\(count)A" : ""
    for line in lines { text += "\r\(line.prefix(columns - 1))\u{1B}[K\n" }
    // Clears text that the terminal has echoed below, such as ^C.
    print(text, terminator: "\u{1B}[J")
    fflush(nil)
  }

  /// The width of the window, which may change while the program runs.
  private var columns: Int {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else { return 80 }
    return Int(size.ws_col)
  }

  private func line(for download: Download) async -> String {
    let name = URL(filePath: download.request.path).lastPathComponent
    let progress = download.currentProgress
    switch download.state {
    case .waiting: return "\(name): waiting"
    case .running: return "\(name): \(isTerminal ? bar(progress) : tenths(progress))"
    case .paused: return "\(name): paused"
    case .finished: return "\(name): \(await ending(of: download))"
    }
  }

  private func ending(of download: Download) async -> String {
    // The download has ended, so this does not wait.
    switch await download.result {
    case .success(let file): return "complete, \(file.bytes) bytes"
    case .failure(let error):
      let reason = error.errorClass == .cancelled ? "paused" : error.message
      guard let data = download.resumeData else { return reason }
      return "\(reason), \(data.bytes) of \(data.expected) bytes kept"
    }
  }

  /// Returns a bar such as `[#####-----]  50 %  1.5 MB/s  3 s left`.
  private func bar(_ progress: DownloadProgress) -> String {
    let rate = "\((progress.rate / 100_000).rounded() / 10) MB/s"
    guard let fraction = progress.fractionCompleted else {
      return "\(progress.bytes) bytes  \(rate)"
    }
    let full = Int(fraction * 30)
    let bar = String(repeating: "#", count: full) + String(repeating: "-", count: 30 - full)
    let left = progress.estimatedTimeRemaining.map { "  \($0.components.seconds) s left" } ?? ""
    return "[\(bar)]  \(Int(fraction * 100)) %  \(rate)\(left)"
  }

  /// Returns the progress in steps of 10 %, so that the program prints few lines.
  private func tenths(_ progress: DownloadProgress) -> String {
    progress.fractionCompleted.map { "\(Int($0 * 10) * 10) %" } ?? "running"
  }
}
