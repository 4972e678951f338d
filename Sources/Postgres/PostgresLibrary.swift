import CLibpq

/// The libpq that this program runs with.
package enum PostgresLibrary {
  /// `15.20`: since 10 the last four digits are the minor version. (libpq: PQlibVersion)
  package static var version: String {
    let number = PQlibVersion()
    return "\(number / 10_000).\(number % 10_000)"
  }
}
