/// What an origin may say of a length.
enum FileLength {
  /// The longest file whose length is believed, in bytes: 1 PiB. Sums of many such stay within 63 bits, here and in the database.
  static let limit: Int64 = 1 << 50
}
