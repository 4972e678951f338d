/// The head of the final response to one HTTP request, without earlier 1xx responses.
///
/// Compare field names without regard to case. Values are stored without surrounding white space (RFC 9110 §5.1, §5.5). The
/// fields keep the order of the response, and a repeated field occurs several times.
package struct ResponseHead: Sendable, Equatable {
  package typealias Field = HeaderField

  /// The status code, 200 to 599.
  package var status: Int
  /// All fields, in the order in which they arrived.
  package var fields: [Field]

  /// Creates a head.
  package init(status: Int, fields: [Field]) {
    self.status = status
    self.fields = fields
  }

  /// Returns every value of `name`, in the order of the head; empty if the field is absent.
  package func values(_ name: String) -> [String] {
    var values: [String] = []
    for index in fields.indices where fields[index].isNamed(name) {
      values.append(fields[index].value)
    }
    return values
  }

  /// Returns the value of `name` if the field occurs once, or always with the same value; otherwise nil.
  package func value(_ name: String) -> String? {
    var found: String?
    for index in fields.indices where fields[index].isNamed(name) {
      let value = fields[index].value
      if let found, !found.utf8.elementsEqual(value.utf8) { return nil }
      found = value
    }
    return found
  }
}
