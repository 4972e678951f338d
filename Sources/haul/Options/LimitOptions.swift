import Arguments

/// The maximum number of rows of a list to show.
struct LimitOptions: OptionGroup {
  static let title: String? = nil
  static let options: [Option<Self>] = [
    .value("limit", "<n>", \.limit, in: 1...1_000_000, "Show at most this many rows."),
    .flag(
      "no-pager", \.isWhole,
      "Do not use a pager (HAUL_PAGER, PAGER or 'less -FRX') for long lists."
    ),
  ]

  var limit = 50
  var isWhole = false

  /// The number of rows to request from the database: one more than the limit, to know whether more rows exist.
  var asked: Int { limit + 1 }
}
