import CLibpq
import Glibc

/// Parses libpq's connection strings.
enum Conninfo {
  /// Returns the options that a key=value string or URI sets. (libpq: PQconninfoParse)
  ///
  /// - Throws: `PostgresError.configuration`. It quotes at most the name of an option that libpq does not know, because a
  ///   password can be anywhere in a string that cannot be parsed.
  static func parse(_ string: String) throws(PostgresError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = unsafe PQconninfoParse(string, &message) else {
      let reason = unsafe message.map { unsafe String(cString: $0) } ?? ""
      unsafe PQfreemem(message)
      throw .configuration(complaint(of: reason, about: string))
    }
    defer { unsafe PQconninfoFree(options) }
    return unsafe values(options)
  }

  /// Returns a message for a connection string that libpq cannot parse.
  ///
  /// If `reason` says that libpq does not know an option, the message names this option, unless the name may be part of a
  /// password. That is possible if `string` contains `@`, which follows the password in a URI, or `pass` before the name.
  private static func complaint(of reason: String, about string: String) -> String {
    let unknown = reason.firstMatch(
      of: #/^invalid (?:connection option|URI query parameter:) "([a-z_]+)"/#)
    guard let name = unknown?.1, let range = string.firstRange(of: name),
      !string.contains("@"), !string[..<range.lowerBound].contains("pass")
    else {
      return "the database's connection string must be key=value pairs or a postgresql:// URI"
        + " that libpq understands"
    }
    return
      "the database's connection string has the option \(name), which libpq does not know; common options are host, port, dbname, user, password, passfile, service and sslmode"
  }

  /// Returns the values of all options that have one.
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
