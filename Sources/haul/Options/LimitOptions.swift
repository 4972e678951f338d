import Arguments

/// How much of a list is shown.
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

  /// What to ask the database for: one more, to know whether there is one.
  var asked: Int { limit + 1 }
}
