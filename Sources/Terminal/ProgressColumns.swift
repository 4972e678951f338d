/// Which columns progress has on a line of some width, and how wide they are: on a narrow terminal what
/// matters least is left out. Every line of a frame has the same.
struct ProgressColumns: Equatable {
  /// `100%`
  static let percent = 4
  /// `1023/1023 MiB`
  static let bytes = 13
  /// `1023 KiB/s`
  static let rate = 10
  /// `59m59s`
  static let timeLeft = 6

  private(set) var name = 0
  /// 0 = no bar.
  private(set) var bar = 0
  /// Blanks before each column but the percentage that follows a bar, which has one.
  private(set) var gap = 2
  private(set) var hasBytes = true
  private(set) var hasRate = true
  private(set) var hasTimeLeft = true

  /// For lines of at most `width` columns whose names want `widestName`, and for what must be said of all need `least`:
  /// all other columns go before a part of that does.
  ///
  /// The column of names grows in steps, so that not every name that comes and goes moves the rest.
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

  /// All but name and bar, the blanks before them included; what stands between name and bar is `gap`.
  private var fixed: Int {
    gap + Self.percent + (hasBytes ? gap + Self.bytes : 0) + (hasRate ? gap + Self.rate : 0)
      + (hasTimeLeft ? gap + Self.timeLeft : 0)
  }
}
