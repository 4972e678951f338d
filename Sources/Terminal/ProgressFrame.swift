import HaulSystem

/// One running download as shown.
package struct TransferProgress: Sendable, Equatable {
  /// What the user knows it by: a path or a file's name; may hold anything.
  package var name: String
  /// Bytes of the file so far.
  package var bytes: Int64
  /// The file's complete length in bytes, where known.
  package var total: Int64?
  /// Bytes a second, lately.
  package var rate: Int64

  package init(name: String, bytes: Int64, total: Int64?, rate: Int64) {
    self.name = name
    self.bytes = bytes
    self.total = total
    self.rate = rate
  }

  /// How much of it is there, 0...1; nil while its length is unknown.
  package var fraction: Double? { total.map { Fraction.of(bytes, $0) } }

  /// At the rate of late; nil while that is 0 or the length is unknown.
  package var timeLeft: Duration? {
    guard let total, rate > 0 else { return nil }
    return .clamped(seconds: Double(max(total - bytes, 0)) / Double(rate))
  }
}

/// Everything that progress shows at one moment.
package struct ProgressFrame: Sendable, Equatable {
  /// Downloads that run now, in the order of their lines.
  package var transfers: [TransferProgress]
  /// Files that are there.
  package var done: Int
  /// Files that failed.
  package var failed: Int
  /// Files that were cancelled.
  package var cancelled: Int
  /// Files in all; nil while that is unknown.
  package var all: Int?
  /// What there is of files that wait, in whole files.
  package var parts: Double
  /// Bytes of all files so far.
  package var bytes: Int64
  /// Bytes of all files in the end; nil unless every length is known.
  package var total: Int64?
  /// Whether the bar counts files also where that is known.
  package var countsFiles: Bool
  /// Bytes a second over all.
  package var rate: Int64
  /// Time until all is done; nil while unknown.
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

  /// Whether every file is there or will not come.
  var isOver: Bool { all == done + failed + cancelled }

  /// How much is there, 0...1: of the bytes, or else of the files, those that run or wait by their parts.
  var fraction: Double? {
    if let total, !countsFiles { return Fraction.of(bytes, total) }
    guard let all, !isOver else { return all.map { _ in 1 } }
    let ended = Double(done + failed + cancelled)
    let there = transfers.reduce(ended + parts) { $0 + ($1.fraction ?? 0) }
    return min(there / Double(all), Fraction.nearly)
  }
}

private enum Fraction {
  /// What is not yet all shows as less than 100%.
  static let nearly = 0.999

  /// 1 only when nothing is missing.
  static func of(_ part: Int64, _ whole: Int64) -> Double {
    part >= whole ? 1 : min(max(Double(part) / Double(whole), 0), nearly)
  }
}
