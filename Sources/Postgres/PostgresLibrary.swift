import CLibpq

/// The libpq library that this program uses.
package enum PostgresLibrary {
  /// The version such as `15.20`. Since version 10, the last four digits are the minor version. (libpq: PQlibVersion)
  package static var version: String {
    let number = PQlibVersion()
    return "\(number / 10_000).\(number % 10_000)"
  }
}
