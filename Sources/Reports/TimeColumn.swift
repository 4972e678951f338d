package import Terminal

extension Listing.Column {
  /// A moment: for people to the second, for programs as the view gives it; both in UTC.
  package static func time(
    _ title: String, key: String, _ moment: @escaping @Sendable (Row) -> String?
  ) -> Self {
    Self(
      title, key: key, value: { .text(moment($0)) },
      text: { moment($0).map(HumanFormat.time) ?? "-" })
  }
}
