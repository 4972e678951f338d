import HaulSystem

/// The progress of one running download.
package struct TransferProgress: Sendable, Equatable {
  /// The name by which the user knows the download: a path or a file's name. It may contain any characters.
  package var name: String
  /// The number of bytes of the file received so far.
  package var bytes: Int64
  /// The length of the whole file in bytes; nil if it is unknown.
  package var total: Int64?
  /// The recent rate in bytes per second.
  package var rate: Int64

  package init(name: String, bytes: Int64, total: Int64?, rate: Int64) {
    self.name = name
    self.bytes = bytes
    self.total = total
    self.rate = rate
  }

  /// The received fraction of the file, from 0 to 1; nil while the length is unknown.
  package var fraction: Double? { total.map { Fraction.of(bytes, $0) } }

  /// The remaining time at the recent rate; nil while the rate is 0 or the length is unknown.
  package var timeLeft: Duration? {
    guard let total, rate > 0 else { return nil }
    return .clamped(seconds: Double(max(total - bytes, 0)) / Double(rate))
  }
}

/// The progress of all files at one moment.
package struct ProgressFrame: Sendable, Equatable {
  /// The running downloads, in the order in which they are shown.
  package var transfers: [TransferProgress]
  /// The number of finished files.
  package var done: Int
  /// The number of failed files.
  package var failed: Int
  /// The number of cancelled files.
  package var cancelled: Int
  /// The number of all files; nil while it is unknown.
  package var all: Int?
  /// The sum of the received fractions of all waiting files. A complete file would add 1.
  package var parts: Double
  /// The number of bytes of all files received so far.
  package var bytes: Int64
  /// The total length of all files in bytes; nil unless every length is known.
  package var total: Int64?
  /// Whether the progress bar counts files even if the total number of bytes is known.
  package var countsFiles: Bool
  /// The rate of all downloads together in bytes per second.
  package var rate: Int64
  /// The estimated time until all files are done; nil while it is unknown.
  package var timeLeft: Duration?

  package init(
    transfers: [TransferProgress] = [], done: Int = 0, failed: Int = 0, cancelled: Int = 0,
    all: Int? = nil, parts: Double = 0, bytes: Int64 = 0, total: Int64? = nil,
    countsFiles: Bool = false, rate: Int64 = 0, timeLeft: Duration? = nil
  ) {
    self.transfers = transfers
    self.done = done
    self.failed = failed
    self.cancelled = cancelled
    self.all = all
    self.parts = parts
    self.bytes = bytes
    self.total = total
    self.countsFiles = countsFiles
    self.rate = rate
    self.timeLeft = timeLeft
  }

  /// Whether every file is done, failed or cancelled.
  var isOver: Bool { all == done + failed + cancelled }

  /// The completed fraction, from 0 to 1; nil while it is unknown. Measured in bytes if possible, otherwise in files. Running and
  /// waiting files count by their received fractions.
  var fraction: Double? {
    if let total, !countsFiles { return Fraction.of(bytes, total) }
    guard let all, !isOver else { return all.map { _ in 1 } }
    let ended = Double(done + failed + cancelled)
    let there = transfers.reduce(ended + parts) { $0 + ($1.fraction ?? 0) }
    return min(there / Double(all), Fraction.nearly)
  }
}

private enum Fraction {
  /// The maximum fraction of an incomplete file, so that it is shown as less than 100 %.
  static let nearly = 0.999

  /// Returns `part` divided by `whole`. The result is 1 only if no byte is missing.
  static func of(_ part: Int64, _ whole: Int64) -> Double {
    part >= whole ? 1 : min(max(Double(part) / Double(whole), 0), nearly)
  }
}
