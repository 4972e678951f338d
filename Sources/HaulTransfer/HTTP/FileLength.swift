/// The limit for lengths that a server states.
enum FileLength {
  /// The maximum length of a file that Haul accepts, in bytes: 1 PiB. Sums of many such lengths fit into 63 bits, here and in
  /// the database.
  static let limit: Int64 = 1 << 50
}
