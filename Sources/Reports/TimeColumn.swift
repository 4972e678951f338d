package import Terminal

extension Listing.Column {
  /// Returns a column for a time in UTC: to the second for people, and as the view returns it for programs.
  package static func time(
    _ title: String, key: String, _ moment: @escaping @Sendable (Row) -> String?
  ) -> Self {
    Self(
      title, key: key, value: { .text(moment($0)) },
      text: { moment($0).map(HumanFormat.time) ?? "-" })
  }
}
