package import Terminal

extension Listing.Column {
  /// Returns a column for a time in UTC. The table shows the time to the second. The JSON output has the time as the view
  /// returns it.
  package static func time(
    _ title: String, key: String, _ moment: @escaping @Sendable (Row) -> String?
  ) -> Self {
    Self(
      title, key: key, value: { .text(moment($0)) },
      text: { moment($0).map(HumanFormat.time) ?? "-" })
  }
}
