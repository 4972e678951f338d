/// The columns of a progress line and their widths. On a narrow terminal the least important columns are left out. All lines of
/// a frame have the same columns.
struct ProgressColumns: Equatable {
  /// The width of `100%`.
  static let percent = 4
  /// The width of `1023/1023 MiB`.
  static let bytes = 13
  /// The width of `1023 KiB/s`.
  static let rate = 10
  /// The width of `59m59s`.
  static let timeLeft = 6

  private(set) var name = 0
  /// The width of the bar. 0 means no bar.
  private(set) var bar = 0
  /// The number of blanks before each column. A percentage after a bar has only one.
  private(set) var gap = 2
  private(set) var hasBytes = true
  private(set) var hasRate = true
  private(set) var hasTimeLeft = true

  /// Chooses the columns for lines of at most `width` columns. `widestName` is the width of the longest name. `least` is the
  /// width of the necessary part of the totals: all other columns are omitted before that part is cut.
  ///
  /// The column of names grows in steps, so that the other columns do not move each time a name comes or goes.
  init(width: Int, widestName: Int, least: Int) {
    let wanted = max((widestName + 7) / 8 * 8, 16)
    var room = width - fixed - 1
    if room >= max(16, least) + 8 {
      name = max(min(wanted, room - min(max(room * 3 / 8, 8), 40)), least)
      bar = min(room - name, 40)
      return
    }
    room = width - fixed
    if room < max(12, least) {
      (gap, hasBytes) = (1, false)
      room = width - fixed
    }
    if room < max(12, least) {
      hasRate = false
      room = width - fixed
    }
    if room < max(8, least) {
      hasTimeLeft = false
      room = width - fixed
    }
    name = max(min(wanted, room), 0)
  }

  /// The width of all columns except name and bar, with all blanks after the name. If there is a bar, the one blank between bar
  /// and percentage is not included.
  private var fixed: Int {
    gap + Self.percent + (hasBytes ? gap + Self.bytes : 0) + (hasRate ? gap + Self.rate : 0)
      + (hasTimeLeft ? gap + Self.timeLeft : 0)
  }
}
