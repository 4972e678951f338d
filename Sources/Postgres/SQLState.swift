/// An error code of the server, with five characters (PostgreSQL manual, appendix A).
///
/// Every code that the server can send has a value. Only codes that influence a decision have a name.
package struct SQLState: RawRepresentable, Hashable, Sendable {
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  private init(_ code: String) {
    rawValue = code
  }

  package static let readOnlyTransaction = SQLState("25006")
  package static let uniqueViolation = SQLState("23505")
  package static let invalidAuthorization = SQLState("28000")
  package static let invalidPassword = SQLState("28P01")
  package static let invalidCatalogName = SQLState("3D000")
  package static let serializationFailure = SQLState("40001")
  package static let deadlockDetected = SQLState("40P01")
  package static let insufficientPrivilege = SQLState("42501")
  package static let undefinedFunction = SQLState("42883")
  package static let undefinedTable = SQLState("42P01")
  package static let lockNotAvailable = SQLState("55P03")
  package static let queryCanceled = SQLState("57014")
  package static let cannotConnectNow = SQLState("57P03")

  /// Returns whether the error's class, its first two characters, is `code`, such as `"08"`.
  package func isInClass(_ code: String) -> Bool {
    rawValue.hasPrefix(code)
  }
}
