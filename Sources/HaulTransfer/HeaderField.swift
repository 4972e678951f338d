/// A header field of a request or a response, such as `Content-Type: text/plain`.
public struct HeaderField: Sendable, Hashable {
  /// The name as sent. Compare names without regard to case.
  public var name: String
  /// The value without leading or trailing white space.
  public var value: String

  /// Creates a field. The caller must remove white space around `value`.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Returns whether the field has this name, without regard to case (RFC 9110 §5.1).
  public func isNamed(_ name: String) -> Bool {
    guard self.name.utf8.count == name.utf8.count else { return false }
    let (own, other) = (self.name.utf8.span, name.utf8.span)
    for index in own.indices where own[index].inLowerCase != other[index].inLowerCase {
      return false
    }
    return true
  }
}
