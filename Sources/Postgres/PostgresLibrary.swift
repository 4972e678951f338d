import CLibpq

/// The libpq library that this program uses.
package enum PostgresLibrary {
  /// The version of libpq, such as `15.20`. (PQlibVersion)
  package static var version: String {
    let number = PQlibVersion()
    return "\(number / 10_000).\(number % 10_000)"
  }
}
