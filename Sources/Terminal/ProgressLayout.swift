import HaulSystem

/// Converts a frame to lines: one line for each running download, and one line of totals.
///
///     debian-12.iso     ━━━━━━━━╸───────  53%   0.3/0.6 GiB  12.3 MiB/s   24s
///     3 of 12 files     ━━╸─────────────  14%   0.6/4.3 GiB  21.0 MiB/s  3m04s
package struct ProgressLayout: Sendable {
  /// The minimum number of columns for more than the counts of files.
  private static let fewestColumns = 12

  private let style: Screen
  private let bar: ProgressBar

  /// Creates a layout. If `hasUnicode` is false, the layout draws bars with ASCII characters only.
  package init(hasColors: Bool = false, hasUnicode: Bool = true) {
    style = Screen(width: nil, hasColors: hasColors)
    bar = ProgressBar(hasUnicode: hasUnicode)
  }

  /// Returns the lines for a frame, without trailing blanks.
  ///
  /// The lines are narrower than `columns` and fewer than `rows`, so that the cursor has a row of its own below them. If there
  /// is no room for all downloads, the largest files are shown. If there are fewer lines than `height`, blank lines above them
  /// keep the totals in place, as far as there is room.
  package func lines(
    _ frame: ProgressFrame, columns: Int, rows: Int, height: Int = 0
  ) -> [String] {
    // The totals and the cursor take one row each.
    let room = rows - 2
    guard room >= 0 else { return [] }
    if columns < Self.fewestColumns {
      return [frame.counts(fitting: max(columns - 1, 0))]
    }
    let shown = Self.largest(frame.transfers, fitting: room)
    let hidden = frame.transfers.count - shown.count
    let names = shown.map { SafeText.visible($0.name) }
    let widest = (names + [frame.counts]).map(DisplayWidth.of).max() ?? 0
    let widths = ProgressColumns(
      width: columns - 1, widestName: widest, least: DisplayWidth.of(frame.leastCounts))
    let cutter = PathCutter(names, in: widths.name, ellipsis: bar.ellipsis)
    var lines = zip(shown, names).map { line(of: $0, name: $1, cutter, widths) }
    if hidden > 0 && room > 0 {
      let text = shown.isEmpty ? "\(hidden) running" : "\(bar.ellipsis) and \(hidden) more"
      lines.append(style.paint(DisplayWidth.truncated(text, to: columns - 1), .dim))
    }
    let blank = max(min(height, room) - lines.count, 0)
    return Array(repeating: "", count: blank) + lines + [line(ofTotal: frame, widths)]
  }

  /// Returns the transfers with the most bytes, in their original order. One line is reserved for the number of the others.
  private static func largest(
    _ transfers: [TransferProgress], fitting room: Int
  ) -> [TransferProgress] {
    if transfers.count <= room { return transfers }
    let bySize = transfers.indices.sorted {
      (transfers[$1].size, $0) < (transfers[$0].size, $1)
    }
    return bySize.prefix(max(room - 1, 0)).sorted().map { transfers[$0] }
  }

  private func line(
    of transfer: TransferProgress, name: String, _ cutter: PathCutter, _ widths: ProgressColumns
  ) -> String {
    let row = Row(
      fraction: transfer.fraction,
      bytes: HumanFormat.bytes(transfer.bytes, of: transfer.total), rate: transfer.rate,
      timeLeft: transfer.timeLeft)
    return line(row, widths) { cutter.cut(name, to: $0) }
  }

  private func line(ofTotal frame: ProgressFrame, _ widths: ProgressColumns) -> String {
    let row = Row(
      fraction: frame.fraction,
      bytes: HumanFormat.bytes(frame.bytes, of: frame.total), rate: frame.rate,
      timeLeft: frame.timeLeft, labelStyle: frame.failed > 0 ? .red : .bold)
    return line(row, widths, label: frame.counts(fitting:))
  }

  /// The content of a line, except its label.
  private struct Row {
    /// The fraction from 0 to 1. Nil draws no bar and no percentage.
    var fraction: Double?
    var bytes: String
    var rate: Int64
    var timeLeft: Duration?
    var labelStyle: Style?
  }

  private func line(
    _ row: Row, _ widths: ProgressColumns, label: (_ width: Int) -> String
  ) -> String {
    let gap = String(repeating: " ", count: widths.gap)
    var measure = row.fraction.map { "\(Int(clamped: $0 * 100))%" } ?? ""
    var labelWidth = widths.name
    if !widths.hasBytes && row.fraction == nil {
      // Only the received bytes are known. They take as much room from the name as they need.
      measure = row.bytes
      labelWidth = max(
        labelWidth + ProgressColumns.percent - max(measure.utf8.count, ProgressColumns.percent), 0)
    }
    let label = label(labelWidth)
    var line = style.paint(label, row.labelStyle)
    line += String(repeating: " ", count: max(labelWidth - DisplayWidth.of(label), 0))
    if widths.bar > 0 { line += gap + painted(bar: row.fraction, widths.bar) }
    line += (widths.bar > 0 ? " " : gap) + padded(measure, ProgressColumns.percent)
    if widths.hasBytes { line += gap + padded(row.bytes, ProgressColumns.bytes) }
    if widths.hasRate {
      line += gap + padded(row.rate > 0 ? HumanFormat.rate(row.rate) : "-", ProgressColumns.rate)
    }
    if widths.hasTimeLeft, let text = row.timeLeft.flatMap(HumanFormat.timeLeft) {
      line += gap + style.paint(padded(text, ProgressColumns.timeLeft), .dim)
    }
    return line
  }

  private func painted(bar fraction: Double?, _ width: Int) -> String {
    guard let fraction else { return String(repeating: " ", count: width) }
    let parts = bar.parts(fraction, width)
    return style.paint(parts.full, .green) + style.paint(parts.rest, .dim)
  }

  private func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(width - text.utf8.count, 0)) + text
  }
}

extension TransferProgress {
  /// The size by which downloads are chosen for display.
  fileprivate var size: Int64 { total ?? bytes }
}

extension ProgressFrame {
  /// The counts of files: `3 of 12 files, 1 failed, 2 cancelled`.
  var counts: String {
    let files = all.map { "\(done) of \($0) file\($0 == 1 ? "" : "s")" }
    return (files ?? "\(done) file\(done == 1 ? "" : "s")") + losses
  }

  /// Returns as much of `counts` as fits into `width`. The number of failures is dropped last.
  fileprivate func counts(fitting width: Int) -> String {
    let texts = [counts, "\(shortestCounts)\(losses)", leastCounts]
    let text = texts.first { DisplayWidth.of($0) <= width }
    return text
      ?? DisplayWidth.truncated(failed > 0 ? "\(failed) failed" : shortestCounts, to: width)
  }

  /// The shortest form of the counts, which must be shown: `3/12, 1 failed`.
  fileprivate var leastCounts: String {
    shortestCounts + (failed > 0 ? ", \(failed) failed" : "")
  }

  private var shortestCounts: String { "\(done)" + (all.map { "/\($0)" } ?? "") }

  private var losses: String {
    (failed > 0 ? ", \(failed) failed" : "") + (cancelled > 0 ? ", \(cancelled) cancelled" : "")
  }
}
