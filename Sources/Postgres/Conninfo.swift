import CLibpq
import Glibc

/// libpq's connection strings.
enum Conninfo {
  /// What a key=value string or URI sets. (libpq: PQconninfoParse)
  ///
  /// - Throws: `PostgresError.configuration`, which quotes nothing: a password can stand anywhere in
  ///   a string that does not parse.
  static func parse(_ string: String) throws(PostgresError) -> [String: String] {
    guard let options = unsafe PQconninfoParse(string, nil) else {
      throw .configuration(
        "the database's connection string is neither key=value pairs nor a postgresql:// URI"
          + " that libpq understands")
    }
    defer { unsafe PQconninfoFree(options) }
    return unsafe values(options)
  }

  /// The options that have a value.
  static func values(_ options: UnsafePointer<PQconninfoOption>) -> [String: String] {
    var values: [String: String] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        unsafe values[String(cString: keyword)] = unsafe String(cString: value)
      }
      unsafe option += 1
    }
    return values
  }
}
